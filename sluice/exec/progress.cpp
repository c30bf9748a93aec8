#include "sluice/exec/progress.hpp"

#include <immintrin.h>

#include "sluice/base/as_index.hpp"

namespace sluice::exec {
namespace {

// What is nearly done is cheaper to spin for than to sleep and be woken for.
constexpr Seconds kSpinSeconds = 30e-6;

}  // namespace

Progress::Progress(std::vector<ProcessorId> processor_of, std::size_t processors, std::size_t transfer_count,
                   std::size_t lane_count)
    : op_count_(std::ssize(processor_of)),
      processor_of_(std::move(processor_of)),
      clocks_(processors),
      computing_(processors),
      lanes_(lane_count),
      steps_done_(transfer_count) {}

void Progress::begin_step() {
  ++step_;
  step_start_ = std::chrono::steady_clock::now();
  advance_clock(kMainProcessor, moment_after(step_, plan::kStepStart));
}

void Progress::finish_op(graph::OpIndex op) { advance_clock(processor_of_[as_index(op)], moment_after(step_, op)); }

// A need names its moment alone: which processor's clock will show it follows.
void Progress::advance_clock(ProcessorId processor, std::int64_t moment) {
  clocks_[as_index(processor)].moment.store(moment);
  const auto met = [&](std::int64_t needed) { return needed <= moment && whose(needed) == processor; };
  for (LaneNeeds& lane : lanes_) {
    std::int64_t needed = lane.moment.load();
    if (met(needed) && lane.moment.compare_exchange_strong(needed, kNever)) lane.wake();
  }
  for (ComputeNeeds& needs : computing_) {
    if (met(needs.moment.load())) signal(needs);
  }
}

template <typename Done>
bool Progress::sleep_until(const Done& done, ComputeNeeds& needs) const {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::duration<Seconds>(kSpinSeconds);
  while (!done() && !stopped() && std::chrono::steady_clock::now() < give_up) _mm_pause();
  for (;;) {
    const std::int32_t seen = needs.signal.load();
    if (stopped() || done()) break;
    needs.signal.wait(seen);
  }
  return !stopped();
}

bool Progress::wait_for_transfer(program::TransferIndex transfer, ProcessorId waiting) {
  ComputeNeeds& needs = computing_[as_index(waiting)];
  needs.transfer.store(transfer);
  const bool done = sleep_until([&] { return transfer_done(transfer); }, needs);
  needs.transfer.store(kNone);
  return done;
}

bool Progress::wait_for_op(graph::OpIndex op, ProcessorId waiting) {
  return wait_for_moment(moment_after(step_, op), waiting);
}

bool Progress::wait_for_step(std::int64_t step, ProcessorId waiting) {
  return wait_for_moment(moment_after(step, plan::kStepStart), waiting);
}

bool Progress::wait_for_moment(std::int64_t moment, ProcessorId waiting) {
  ComputeNeeds& needs = computing_[as_index(waiting)];
  needs.moment.store(moment);
  const bool done = sleep_until([&] { return reached(moment); }, needs);
  needs.moment.store(kNever);
  return done;
}

bool Progress::op_done(std::size_t lane, std::int64_t step, graph::OpIndex op) {
  const std::int64_t moment = moment_after(step, op);
  if (reached(moment)) return true;
  lanes_[lane].moment.store(moment);
  if (!reached(moment)) return false;
  lanes_[lane].moment.store(kNever);
  return true;
}

bool Progress::transfer_done(std::size_t lane, std::int64_t step, program::TransferIndex transfer) {
  if (done_in(transfer, step)) return true;
  lanes_[lane].transfer.store(transfer);
  if (!done_in(transfer, step)) return false;
  lanes_[lane].transfer.store(kNone);
  return true;
}

void Progress::finish_transfer(program::TransferIndex transfer) {
  steps_done_[transfer].fetch_add(1);
  for (LaneNeeds& lane : lanes_) {
    program::TransferIndex needed = lane.transfer.load();
    if (needed == transfer && lane.transfer.compare_exchange_strong(needed, kNone)) lane.wake();
  }
  for (ComputeNeeds& needs : computing_) {
    if (needs.transfer.load() == transfer) signal(needs);
  }
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
  for (ComputeNeeds& needs : computing_) signal(needs);
  for (LaneNeeds& lane : lanes_) {
    if (lane.wake) lane.wake();
  }
}

Status Progress::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

void Progress::signal(ComputeNeeds& needs) {
  needs.signal.fetch_add(1);
  needs.signal.notify_one();
}

}  // namespace sluice::exec
