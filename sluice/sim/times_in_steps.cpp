#include "sluice/sim/times_in_steps.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

// Of a transfer: the share of compute that is lost while it lasts.
double lost_share(const TransferInstruction& transfer, const Span& span, const CostModel& costs) {
  const Load load{transfer.tensor, transfer.bytes, transfer.encoding};
  const Seconds lost = costs.interference(transfer.link, load) * costs.transfer_seconds(transfer.link, load);
  const Seconds lasted = span.end - span.begin;
  return lasted > 0 ? std::min(1.0, lost / lasted) : 0;
}

// Goes through ops and transfers of a lane side by side: both are in the order of their times.
void take_off_lane(const Program& program, const CostModel& costs, const StepTimes& step,
                   const std::vector<TransferIndex>& lane, const std::vector<OpIndex>& ops,
                   std::vector<Seconds>& seconds) {
  auto first = lane.begin();
  for (const OpIndex op : ops) {
    const Span& ran = step.ops[as_index(op)];
    while (first != lane.end() && step.transfers[as_index(*first)].end <= ran.begin) ++first;
    for (auto each = first; each != lane.end(); ++each) {
      const Span& carried = step.transfers[as_index(*each)];
      if (carried.begin >= ran.end) break;
      const Seconds beside = std::min(ran.end, carried.end) - std::max(ran.begin, carried.begin);
      seconds[as_index(op)] -= beside * lost_share(program.transfers[as_index(*each)], carried, costs);
    }
  }
}

bool all_fast(const ComputeInstruction& instruction) {
  return std::ranges::all_of(instruction.operands, [](const Location& at) { return at.tier == kFastTier; });
}

}  // namespace

std::vector<std::vector<Seconds>> op_times_in_steps(const Program& program, const CostModel& costs,
                                                    std::span<const StepTimes> steps) {
  const std::vector<OpIndex> main = compute_lanes(program)[kMainProcessor];
  std::vector<std::vector<Seconds>> samples(program.compute.size());
  for (const StepTimes& step : steps) {
    std::vector<Seconds> seconds;
    for (const Span& ran : step.ops) seconds.push_back(ran.end - ran.begin);
    for (const auto& lane : program.lanes) take_off_lane(program, costs, step, lane, main, seconds);
    for (const OpIndex op : main) {
      if (!all_fast(program.compute[as_index(op)])) continue;
      const Span& ran = step.ops[as_index(op)];
      samples[as_index(op)].push_back(std::max(seconds[as_index(op)], kLeastComputeSpeed * (ran.end - ran.begin)));
    }
  }
  return samples;
}

}  // namespace sluice
