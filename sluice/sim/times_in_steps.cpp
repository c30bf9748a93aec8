#include "sluice/sim/times_in_steps.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::sim {
namespace {

// Of a transfer: the share of compute that is lost while it lasts.
double lost_share(const program::TransferInstruction& transfer, const program::Span& span,
                  const profile::CostModel& costs) {
  const profile::Load load{transfer.tensor, transfer.bytes, transfer.encoded >= 0};
  const Seconds lost = costs.interference(transfer.link, load) * costs.transfer_seconds(transfer.link, load);
  const Seconds lasted = span.end - span.begin;
  return lasted > 0 ? std::min(1.0, lost / lasted) : 0;
}

// Goes through ops and transfers of a lane side by side: both are in the order of their times.
void take_off_lane(const program::Program& program, const profile::CostModel& costs, const program::StepTimes& step,
                   const std::vector<program::TransferIndex>& lane, const std::vector<graph::OpIndex>& ops,
                   std::vector<Seconds>& seconds) {
  auto first = lane.begin();
  for (const graph::OpIndex op : ops) {
    const program::Span& ran = step.ops[as_index(op)];
    while (first != lane.end() && step.transfers[as_index(*first)].end <= ran.begin) ++first;
    for (auto each = first; each != lane.end(); ++each) {
      const program::Span& carried = step.transfers[as_index(*each)];
      if (carried.begin >= ran.end) break;
      const Seconds beside = std::min(ran.end, carried.end) - std::max(ran.begin, carried.begin);
      seconds[as_index(op)] -= beside * lost_share(program.transfers[as_index(*each)], carried, costs);
    }
  }
}

bool all_fast(const program::ComputeInstruction& instruction) {
  return std::ranges::all_of(instruction.operands,
                             [](const program::Location& at) { return at.tier == memory::kFastTier; });
}

}  // namespace

std::vector<std::vector<Seconds>> op_times_in_steps(const program::Program& program, const profile::CostModel& costs,
                                                    std::span<const program::StepTimes> steps) {
  const std::vector<graph::OpIndex> main = program::compute_lanes(program)[kMainProcessor];
  std::vector<std::vector<Seconds>> samples(program.compute.size());
  for (const program::StepTimes& step : steps) {
    std::vector<Seconds> seconds;
    for (const program::Span& ran : step.ops) seconds.push_back(ran.end - ran.begin);
    for (const auto& lane : program.lanes) take_off_lane(program, costs, step, lane, main, seconds);
    for (const graph::OpIndex op : main) {
      if (!all_fast(program.compute[as_index(op)])) continue;
      const program::Span& ran = step.ops[as_index(op)];
      samples[as_index(op)].push_back(
          std::max(seconds[as_index(op)], profile::kLeastComputeSpeed * (ran.end - ran.begin)));
    }
  }
  return samples;
}

}  // namespace sluice::sim
