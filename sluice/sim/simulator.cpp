#include "sluice/sim/simulator.hpp"

#include <algorithm>

namespace sluice {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// Instructions are timed in plan order. Every wait points backwards in that order, and so does the order of each lane.
class Simulation {
 public:
  Simulation(const Program& program, const CostModel& costs)
      : program_(program), costs_(costs), link_free_(program.lanes.size(), 0), lane_passed_(program.lanes.size(), 0) {
    timeline_.link_bytes.assign(program.lanes.size(), 0);
  }

  Timeline run() {
    const auto transfer_count = program_.transfers.size();
    for (const ComputeInstruction& instruction : program_.compute) {
      while (timeline_.transfers.size() < transfer_count && next_transfer().after_op < instruction.op) time_transfer();
      time_op(instruction);
    }
    while (timeline_.transfers.size() < transfer_count) time_transfer();
    Seconds end = compute_end_;
    for (const Span& transfer : timeline_.transfers) end = std::max(end, transfer.end);
    timeline_.stall_seconds += end - compute_end_;
    timeline_.step_seconds = end;
    return std::move(timeline_);
  }

 private:
  const TransferInstruction& next_transfer() const { return program_.transfers[timeline_.transfers.size()]; }

  Seconds last_end(const std::vector<TransferIndex>& waits, Seconds earliest) const {
    for (const TransferIndex wait : waits) earliest = std::max(earliest, timeline_.transfers[at(wait)].end);
    return earliest;
  }

  void time_transfer() {
    const TransferInstruction& transfer = next_transfer();
    Seconds& link_free = link_free_[at(transfer.link)];
    const Seconds issued = transfer.after_op == kStepStart ? 0 : timeline_.ops[at(transfer.after_op)].end;
    const Seconds begin = last_end(transfer.waits, std::max(issued, link_free));
    link_free = begin + costs_.transfer_seconds(transfer.link, transfer.bytes);
    timeline_.transfers.push_back({begin, link_free});
    timeline_.link_bytes[at(transfer.link)] += transfer.bytes;
  }

  // Compute time lost to the transfers under way in `span`. Those that can be are timed already: each was issued after
  // an earlier op. Lanes run in order, so transfers that ended before the span are never looked at again.
  Seconds interference(const Span& span) {
    Seconds lost = 0;
    for (std::size_t link = 0; link < program_.lanes.size(); ++link) {
      const double share = costs_.interference(static_cast<LinkId>(link));
      const auto& lane = program_.lanes[link];
      std::size_t& first = lane_passed_[link];
      const auto timed = [&](std::size_t i) { return at(lane[i]) < timeline_.transfers.size(); };
      while (first < lane.size() && timed(first) && timeline_.transfers[at(lane[first])].end <= span.begin) ++first;
      for (std::size_t i = first; share > 0 && i < lane.size() && timed(i); ++i) {
        const Span& transfer = timeline_.transfers[at(lane[i])];
        if (transfer.begin >= span.end) break;
        lost += share * (std::min(transfer.end, span.end) - std::max(transfer.begin, span.begin));
      }
    }
    return lost;
  }

  void time_op(const ComputeInstruction& instruction) {
    std::vector<TierId> tiers;
    for (const Location& operand : instruction.operands) tiers.push_back(operand.tier);
    const Seconds begin = last_end(instruction.waits, compute_end_);
    timeline_.stalls.push_back(begin - compute_end_);
    timeline_.stall_seconds += timeline_.stalls.back();
    compute_end_ = begin + costs_.op_seconds(instruction.op, tiers);
    compute_end_ += interference({begin, compute_end_});
    timeline_.ops.push_back({begin, compute_end_});
  }

  const Program& program_;
  const CostModel& costs_;
  std::vector<Seconds> link_free_;        // by LinkId
  std::vector<std::size_t> lane_passed_;  // by LinkId: transfers of the lane that ended before the last op began
  Seconds compute_end_ = 0;
  Timeline timeline_;
};

}  // namespace

Timeline simulate(const Program& program, const CostModel& costs) { return Simulation(program, costs).run(); }

}  // namespace sluice
