#include "sluice/sim/simulator.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

// One link, which carries one transfer at a time. `end` holds while `speed` does.
struct LaneState {
  std::size_t started = 0;    // transfers of the lane
  std::size_t waits_met = 0;  // of the next transfer to start
  bool busy = false;
  Seconds end = kNever;  // of the transfer under way
  double speed = 1;      // share of the link's own

  std::optional<LinkId> shares_with = {};
  double shared_speed = 1;
  double interference = 0;  // of the transfer under way: compute time lost in every second at full speed
};

// However many bytes go by, an op gets this share of the time.
constexpr double kLeastSpeed = 0.05;

// `end` is that of the op under way, and holds while `speed` does.
struct ComputeState {
  std::size_t started = 0;    // ops
  std::size_t waits_met = 0;  // of the next op to start
  bool busy = false;
  Seconds end = kNever;
  double speed = 1;      // share of what it is without transfers
  Seconds last_end = 0;  // of the previous op
};

// Goes from event to event: an instruction starts as soon as the last thing it waits for has ended, and between two
// events every link goes at one speed. When a link starts or stops, the end of what the link back carries is moved.
class Simulation {
 public:
  Simulation(const Program& program, const CostModel& costs)
      : program_(program), costs_(costs), lanes_(program.lanes.size()), transfer_done_(program.transfers.size()) {
    timeline_.transfers.resize(program.transfers.size());
    timeline_.link_bytes.assign(program.lanes.size(), 0);
    timeline_.raw_link_bytes.assign(program.lanes.size(), 0);
    for (std::size_t link = 0; link < lanes_.size(); ++link) {
      lanes_[link].shares_with = costs.shares_with(static_cast<LinkId>(link));
      lanes_[link].shared_speed = costs.shared_speed(static_cast<LinkId>(link));
    }
  }

  StepTimes run() {
    start();
    for (Seconds event = next_event(); event < kNever; event = next_event()) {
      now_ = event;
      finish();
      start();
    }
    SLUICE_CHECK(timeline_.ops.size() == program_.compute.size(), "a program whose waits point backwards ends");
    timeline_.stall_seconds += now_ - compute_.last_end;
    timeline_.step_seconds = now_;
    return std::move(timeline_);
  }

 private:
  bool all_done(const std::vector<TransferIndex>& waits, std::size_t& met) const {
    while (met < waits.size() && transfer_done_[as_index(waits[met])]) ++met;
    return met == waits.size();
  }

  void start() {
    if (!compute_.busy) start_op();
    for (std::size_t link = 0; link < lanes_.size(); ++link) {
      if (!lanes_[link].busy) start_transfer(link);
    }
    for (LaneState& lane : lanes_) set_speed(lane);
    set_compute_speed();
  }

  void start_op() {
    if (compute_.started == program_.compute.size()) return;
    const ComputeInstruction& instruction = program_.compute[compute_.started];
    if (!all_done(instruction.waits, compute_.waits_met)) return;
    operand_tiers_.clear();
    for (const Location& operand : instruction.operands) operand_tiers_.push_back(operand.tier);
    ++compute_.started;
    compute_.waits_met = 0;
    compute_.busy = true;
    compute_.speed = 1;
    compute_.end = now_ + costs_.op_seconds(instruction.op, operand_tiers_);
    timeline_.ops.push_back({now_, compute_.end});
    timeline_.stalls.push_back(now_ - compute_.last_end);
    timeline_.stall_seconds += timeline_.stalls.back();
  }

  void start_transfer(std::size_t link) {
    LaneState& lane = lanes_[link];
    if (lane.started == program_.lanes[link].size()) return;
    const TransferIndex index = program_.lanes[link][lane.started];
    const TransferInstruction& transfer = program_.transfers[as_index(index)];
    if (!op_done(transfer.after_op) || !all_done(transfer.waits, lane.waits_met)) return;
    ++lane.started;
    lane.waits_met = 0;
    lane.busy = true;
    lane.speed = 1;
    const Load load{transfer.tensor, transfer.bytes, transfer.encoding};
    lane.end = now_ + costs_.transfer_seconds(transfer.link, load);
    lane.interference = costs_.interference(transfer.link, load);
    timeline_.transfers[as_index(index)].begin = now_;
    timeline_.link_bytes[link] += costs_.moved_bytes(load);
    timeline_.raw_link_bytes[link] += transfer.bytes;
  }

  bool op_done(OpIndex op) const {
    return op == kStepStart || as_index(op) + (compute_.busy ? 1 : 0) < compute_.started;
  }

  void set_speed(LaneState& lane) const {
    if (!lane.busy || !lane.shares_with) return;
    const double speed = lanes_[as_index(*lane.shares_with)].busy ? lane.shared_speed : 1;
    if (speed == lane.speed) return;
    lane.end = now_ + (lane.end - now_) * lane.speed / speed;
    lane.speed = speed;
  }

  void set_compute_speed() {
    if (!compute_.busy) return;
    double speed = 1;
    for (const LaneState& lane : lanes_) {
      if (lane.busy) speed *= std::max(0.0, 1 - lane.interference * lane.speed);
    }
    speed = std::max(speed, kLeastSpeed);
    if (speed == compute_.speed) return;
    compute_.end = now_ + (compute_.end - now_) * compute_.speed / speed;
    compute_.speed = speed;
  }

  Seconds next_event() const {
    Seconds next = compute_.busy ? compute_.end : kNever;
    for (const LaneState& lane : lanes_) next = lane.busy ? std::min(next, lane.end) : next;
    return next;
  }

  void finish() {
    if (compute_.busy && compute_.end <= now_) finish_op();
    for (std::size_t link = 0; link < lanes_.size(); ++link) {
      LaneState& lane = lanes_[link];
      if (!lane.busy || lane.end > now_) continue;
      lane.busy = false;
      const TransferIndex index = program_.lanes[link][lane.started - 1];
      timeline_.transfers[as_index(index)].end = now_;
      transfer_done_[as_index(index)] = true;
    }
  }

  void finish_op() {
    compute_.busy = false;
    compute_.last_end = timeline_.ops.back().end = now_;
  }

  const Program& program_;
  const CostModel& costs_;
  std::vector<LaneState> lanes_;  // by LinkId
  std::vector<bool> transfer_done_;
  std::vector<TierId> operand_tiers_;
  ComputeState compute_;
  Seconds now_ = 0;
  StepTimes timeline_;
};

}  // namespace

StepTimes simulate(const Program& program, const CostModel& costs) { return Simulation(program, costs).run(); }

}  // namespace sluice
