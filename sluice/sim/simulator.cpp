#include "sluice/sim/simulator.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "sluice/base/as_index.hpp"

namespace sluice::sim {
namespace {

constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

// One link, which carries one transfer at a time. `end` holds while `speed` does.
struct LaneState {
  std::size_t started = 0;    // transfers of the lane
  std::size_t waits_met = 0;  // of the next transfer to start
  bool busy = false;
  Seconds end = kNever;  // of the transfer under way
  double speed = 1;      // share of the link's own

  std::optional<memory::LinkId> shares_with = {};
  double shared_speed = 1;
  double interference = 0;  // of the transfer under way: compute time lost in every second at full speed
};

// One processor. `end` is that of the op under way, and holds while `speed` does.
struct ComputeState {
  std::size_t started = 0;    // ops of the lane
  std::size_t waits_met = 0;  // transfers, of the next op to start
  bool busy = false;
  Seconds end = kNever;
  double speed = 1;      // share of what it is without transfers
  Seconds last_end = 0;  // of the previous op
};

// Goes from event to event: an instruction starts as soon as the last thing it waits for has ended, and between two
// events every link goes at one speed. When a link starts or stops, the end of what the link back carries is moved.
class Simulation {
 public:
  Simulation(const program::Program& program, const profile::CostModel& costs)
      : program_(program),
        costs_(costs),
        lanes_(program.lanes.size()),
        transfer_done_(program.transfers.size()),
        ops_of_(program::compute_lanes(program)),
        compute_(ops_of_.size()),
        op_done_(program.compute.size()) {
    timeline_.ops.resize(program.compute.size());
    timeline_.stalls.resize(program.compute.size());
    timeline_.transfers.resize(program.transfers.size());
    timeline_.link_bytes.assign(program.lanes.size(), 0);
    timeline_.raw_link_bytes.assign(program.lanes.size(), 0);
    for (std::size_t link = 0; link < lanes_.size(); ++link) {
      lanes_[link].shares_with = costs.shares_with(static_cast<memory::LinkId>(link));
      lanes_[link].shared_speed = costs.shared_speed(static_cast<memory::LinkId>(link));
    }
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
      if (!lanes_[link].busy) start_transfer(link);
    }
    for (LaneState& lane : lanes_) set_speed(lane);
    set_compute_speed();
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
    lane.speed = 1;
    lane.end = now_ + costs_.op_seconds(op, operand_tiers_);
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
    lane.busy = true;
    lane.speed = 1;
    const profile::Load load{transfer.tensor, transfer.bytes, transfer.encoding};
    lane.end = now_ + costs_.transfer_seconds(transfer.link, load);
    lane.interference = costs_.interference(transfer.link, load);
    timeline_.transfers[as_index(index)].begin = now_;
    timeline_.link_bytes[link] += costs_.moved_bytes(load);
    timeline_.raw_link_bytes[link] += transfer.bytes;
  }

  bool op_done(graph::OpIndex op) const { return op == plan::kStepStart || op_done_[as_index(op)]; }

  void set_speed(LaneState& lane) const {
    if (!lane.busy || !lane.shares_with) return;
    const double speed = lanes_[as_index(*lane.shares_with)].busy ? lane.shared_speed : 1;
    if (speed == lane.speed) return;
    lane.end = now_ + (lane.end - now_) * lane.speed / speed;
    lane.speed = speed;
  }

  // Links slow every processor alike; processors do not slow each other.
  void set_compute_speed() {
    double speed = 1;
    for (const LaneState& lane : lanes_) {
      if (lane.busy) speed *= std::max(0.0, 1 - lane.interference * lane.speed);
    }
    speed = std::max(speed, profile::kLeastComputeSpeed);
    for (ComputeState& lane : compute_) {
      if (!lane.busy || speed == lane.speed) continue;
      lane.end = now_ + (lane.end - now_) * lane.speed / speed;
      lane.speed = speed;
    }
  }

  Seconds next_event() const {
    Seconds next = kNever;
    for (const ComputeState& lane : compute_) next = lane.busy ? std::min(next, lane.end) : next;
    for (const LaneState& lane : lanes_) next = lane.busy ? std::min(next, lane.end) : next;
    return next;
  }

  void finish() {
    for (std::size_t processor = 0; processor < compute_.size(); ++processor) {
      if (compute_[processor].busy && compute_[processor].end <= now_) finish_op(processor);
    }
    for (std::size_t link = 0; link < lanes_.size(); ++link) {
      LaneState& lane = lanes_[link];
      if (!lane.busy || lane.end > now_) continue;
      lane.busy = false;
      const program::TransferIndex index = program_.lanes[link][lane.started - 1];
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
