#include "sluice/sim/simulator.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/sim/link_traffic.hpp"

namespace sluice::sim {
namespace {

// One link.
struct LaneState {
  std::size_t started = 0;    // transfers of the lane
  std::size_t waits_met = 0;  // of the next transfer to start
};

// One processor.
struct ComputeState {
  std::size_t started = 0;    // ops of the lane
  std::size_t waits_met = 0;  // transfers, of the next op to start
  bool busy = false;
  UnderWay op;
  Seconds last_end = 0;  // of the previous op
};

// Goes from event to event: an instruction starts as soon as the last thing it waits for has ended, and between two
// events everything goes at one speed.
class Simulation {
 public:
  Simulation(const program::Program& program, const profile::CostModel& costs)
      : program_(program),
        costs_(costs),
        lanes_(program.lanes.size()),
        traffic_(costs, program.lanes.size()),
        transfer_done_(program.transfers.size()),
        ops_of_(program::compute_lanes(program)),
        compute_(ops_of_.size()),
        op_done_(program.compute.size()) {
    timeline_.ops.resize(program.compute.size());
    timeline_.stalls.resize(program.compute.size());
    timeline_.transfers.resize(program.transfers.size());
    timeline_.link_bytes.assign(program.lanes.size(), 0);
    timeline_.raw_link_bytes.assign(program.lanes.size(), 0);
  }

  program::StepTimes run() {
    start();
    for (Seconds event = next_event(); event < kNever; event = next_event()) {
      now_ = event;
      finish();
      start();
    }
    SLUICE_CHECK(std::ranges::find(op_done_, false) == op_done_.end(), "a program whose waits point backwards ends");
    timeline_.stall_seconds += now_ - compute_.front().last_end;
    timeline_.step_seconds = now_;
    return std::move(timeline_);
  }

 private:
  bool all_done(const std::vector<program::TransferIndex>& waits, std::size_t& met) const {
    while (met < waits.size() && transfer_done_[as_index(waits[met])]) ++met;
    return met == waits.size();
  }

  bool ops_done(const std::vector<graph::OpIndex>& ops) const {
    return std::ranges::all_of(ops, [&](graph::OpIndex op) { return op_done_[as_index(op)]; });
  }

  void start() {
    for (std::size_t processor = 0; processor < compute_.size(); ++processor) {
      if (!compute_[processor].busy) start_op(processor);
    }
    for (std::size_t link = 0; link < lanes_.size(); ++link) {
      if (!traffic_.is_busy(as_id<memory::LinkId>(link))) start_transfer(link);
    }
    traffic_.share(now_);
    // Processors do not slow each other.
    for (ComputeState& lane : compute_) {
      if (lane.busy) lane.op.go_at(traffic_.compute_speed(), now_);
    }
  }

  void start_op(std::size_t processor) {
    ComputeState& lane = compute_[processor];
    if (lane.started == ops_of_[processor].size()) return;
    const graph::OpIndex op = ops_of_[processor][lane.started];
    const program::ComputeInstruction& instruction = program_.compute[as_index(op)];
    if (!all_done(instruction.waits, lane.waits_met) || !ops_done(instruction.op_waits)) return;
    operand_tiers_.clear();
    for (const program::Location& operand : instruction.operands) operand_tiers_.push_back(operand.tier);
    ++lane.started;
    lane.waits_met = 0;
    lane.busy = true;
    lane.op = {.end = now_ + costs_.op_seconds(op, operand_tiers_), .speed = 1};
    timeline_.ops[as_index(op)].begin = now_;
    timeline_.stalls[as_index(op)] = now_ - lane.last_end;
    if (processor == kMainProcessor) timeline_.stall_seconds += now_ - lane.last_end;
  }

  void start_transfer(std::size_t link) {
    LaneState& lane = lanes_[link];
    if (lane.started == program_.lanes[link].size()) return;
    const program::TransferIndex index = program_.lanes[link][lane.started];
    const program::TransferInstruction& transfer = program_.transfers[as_index(index)];
    if (!op_done(transfer.after_op) || !ops_done(transfer.op_waits)) return;
    if (!all_done(transfer.waits, lane.waits_met)) return;
    ++lane.started;
    lane.waits_met = 0;
    const profile::Load load{transfer.tensor, transfer.bytes, transfer.encoded >= 0};
    traffic_.start(transfer.link, load, now_);
    timeline_.transfers[as_index(index)].begin = now_;
    timeline_.link_bytes[link] += costs_.moved_bytes(load);
    timeline_.raw_link_bytes[link] += transfer.bytes;
  }

  bool op_done(graph::OpIndex op) const { return op == plan::kStepStart || op_done_[as_index(op)]; }

  Seconds next_event() const {
    Seconds next = traffic_.next_end();
    for (const ComputeState& lane : compute_) next = lane.busy ? std::min(next, lane.op.end) : next;
    return next;
  }

  void finish() {
    for (std::size_t processor = 0; processor < compute_.size(); ++processor) {
      if (compute_[processor].busy && compute_[processor].op.end <= now_) finish_op(processor);
    }
    for (std::size_t link = 0; link < lanes_.size(); ++link) {
      const auto id = as_id<memory::LinkId>(link);
      if (!traffic_.is_busy(id) || traffic_.end(id) > now_) continue;
      traffic_.finish(id);
      const program::TransferIndex index = program_.lanes[link][lanes_[link].started - 1];
      timeline_.transfers[as_index(index)].end = now_;
      transfer_done_[as_index(index)] = true;
    }
  }

  void finish_op(std::size_t processor) {
    ComputeState& lane = compute_[processor];
    const graph::OpIndex op = ops_of_[processor][lane.started - 1];
    lane.busy = false;
    lane.last_end = timeline_.ops[as_index(op)].end = now_;
    op_done_[as_index(op)] = true;
  }

  const program::Program& program_;
  const profile::CostModel& costs_;
  std::vector<LaneState> lanes_;  // by LinkId
  LinkTraffic traffic_;
  std::vector<bool> transfer_done_;
  std::vector<memory::TierId> operand_tiers_;
  std::vector<std::vector<graph::OpIndex>> ops_of_;  // by ProcessorId
  std::vector<ComputeState> compute_;                // by ProcessorId
  std::vector<bool> op_done_;
  Seconds now_ = 0;
  program::StepTimes timeline_;
};

}  // namespace

program::StepTimes simulate(const program::Program& program, const profile::CostModel& costs) {
  return Simulation(program, costs).run();
}

}  // namespace sluice::sim
