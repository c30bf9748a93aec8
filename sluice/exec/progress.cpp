#include "sluice/exec/progress.hpp"

#include <immintrin.h>

namespace sluice {
namespace {

// A transfer that is nearly done is cheaper to spin for than to sleep and be woken for.
constexpr Seconds kSpinSeconds = 30e-6;

}  // namespace

Progress::Progress(std::size_t op_count, std::size_t transfer_count, std::size_t lane_count)
    : op_count_(static_cast<std::int64_t>(op_count)), lanes_(lane_count), steps_done_(transfer_count) {}

void Progress::begin_step() {
  ++step_;
  step_start_ = std::chrono::steady_clock::now();
  advance_clock(moment_after(step_, kStepStart));
}

void Progress::finish_op(OpIndex op) { advance_clock(moment_after(step_, op)); }

void Progress::advance_clock(std::int64_t moment) {
  clock_.store(moment);
  for (LaneNeeds& lane : lanes_) {
    std::int64_t needed = lane.moment.load();
    if (needed <= moment && lane.moment.compare_exchange_strong(needed, kNever)) lane.wake();
  }
}

bool Progress::wait_for_transfer(TransferIndex transfer) {
  const Seconds give_up = seconds_since_step_start() + kSpinSeconds;
  while (!transfer_done(transfer) && !stopped() && seconds_since_step_start() < give_up) _mm_pause();
  compute_needs_.store(transfer);
  for (;;) {
    const std::int32_t signal = compute_signal_.load();
    if (stopped() || transfer_done(transfer)) break;
    compute_signal_.wait(signal);
  }
  compute_needs_.store(kNone);
  return !stopped();
}

bool Progress::op_done(std::size_t lane, std::int64_t step, OpIndex op) {
  const std::int64_t moment = moment_after(step, op);
  if (clock_.load() >= moment) return true;
  lanes_[lane].moment.store(moment);
  if (clock_.load() < moment) return false;
  lanes_[lane].moment.store(kNever);
  return true;
}

bool Progress::transfer_done(std::size_t lane, std::int64_t step, TransferIndex transfer) {
  if (done_in(transfer, step)) return true;
  lanes_[lane].transfer.store(transfer);
  if (!done_in(transfer, step)) return false;
  lanes_[lane].transfer.store(kNone);
  return true;
}

void Progress::finish_transfer(TransferIndex transfer) {
  steps_done_[transfer].fetch_add(1);
  for (LaneNeeds& lane : lanes_) {
    TransferIndex needed = lane.transfer.load();
    if (needed == transfer && lane.transfer.compare_exchange_strong(needed, kNone)) lane.wake();
  }
  if (compute_needs_.load() == transfer) signal_compute();
}

void Progress::fail(Error error) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failure_.ok()) failure_ = std::move(error);
  }
  stop();
}

void Progress::stop() {
  stopped_.store(true);
  signal_compute();
  for (LaneNeeds& lane : lanes_) {
    if (lane.wake) lane.wake();
  }
}

Status Progress::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

void Progress::signal_compute() {
  compute_signal_.fetch_add(1);
  compute_signal_.notify_one();
}

}  // namespace sluice
