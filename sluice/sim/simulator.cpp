#include "sluice/sim/simulator.hpp"

#include <algorithm>

namespace sluice {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// Instructions are timed in plan order. Every wait points backwards in that order, and so does the order of each lane.
class Simulation {
 public:
  Simulation(const Program& program, const CostModel& costs)
      : program_(program), costs_(costs), link_free_(program.lanes.size(), 0) {
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

  void time_op(const ComputeInstruction& instruction) {
    std::vector<TierId> tiers;
    for (const Location& operand : instruction.operands) tiers.push_back(operand.tier);
    const Seconds begin = last_end(instruction.waits, compute_end_);
    timeline_.stalls.push_back(begin - compute_end_);
    timeline_.stall_seconds += timeline_.stalls.back();
    compute_end_ = begin + costs_.op_seconds(instruction.op, tiers);
    timeline_.ops.push_back({begin, compute_end_});
  }

  const Program& program_;
  const CostModel& costs_;
  std::vector<Seconds> link_free_;  // by LinkId
  Seconds compute_end_ = 0;
  Timeline timeline_;
};

}  // namespace

Timeline simulate(const Program& program, const CostModel& costs) { return Simulation(program, costs).run(); }

}  // namespace sluice
