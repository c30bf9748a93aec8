// How far the running step is: what the compute thread and the lanes tell each other.
//
// Why no condition variable: a step has thousands of ops and transfers, and every needless wake-up takes time from the
// compute threads. So progress is a set of counters that are only ever raised. A sleeper first publishes the one thing
// it needs. Whoever makes that thing happen wakes exactly that sleeper, once. Publishing and raising are both
// sequentially consistent: either the sleeper sees the event before it sleeps, or the other side sees the need.
//
// Nothing is reset between steps: ops are counted by a clock that runs on over all steps, and every transfer counts the
// steps in which it was done.
//
// Threads: begin_step(), finish_op() and wait_for_transfer() on the compute thread; op_done(), transfer_done() and
// finish_transfer() on lane threads, each with its own lane number; fail() and stop() anywhere.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "sluice/base/id_vector.hpp"
#include "sluice/base/result.hpp"
#include "sluice/program/program.hpp"

namespace sluice {

class Progress {
 public:
  Progress(std::size_t op_count, std::size_t transfer_count, std::size_t lane_count);

  // How to wake a sleeping lane; set before the first step begins.
  void set_wake(std::size_t lane, std::function<void()> wake) { lanes_[lane].wake = std::move(wake); }

  void begin_step();
  void finish_op(OpIndex op);
  // Sleeps (after a short spin) until the transfer is done in this step; false if the step was stopped instead.
  bool wait_for_transfer(TransferIndex transfer);
  bool transfer_done(TransferIndex transfer) const { return done_in(transfer, step_); }

  // For a lane that is in step `step` (counted from 0). False also promises to wake the lane when it becomes true.
  bool op_done(std::size_t lane, std::int64_t step, OpIndex op);
  bool transfer_done(std::size_t lane, std::int64_t step, TransferIndex transfer);
  void finish_transfer(TransferIndex transfer);

  // Ends the step for everybody; of several failures the first is kept.
  void fail(Error error);
  void stop();
  bool stopped() const { return stopped_.load(); }
  Status failure() const;

  Seconds seconds_since_step_start() const {
    return std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - step_start_).count();
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr TransferIndex kNone = -1;

  struct alignas(64) LaneNeeds {  // one cache line each: lanes publish while others look
    std::atomic<std::int64_t> moment{kNever};
    std::atomic<TransferIndex> transfer{kNone};
    std::function<void()> wake;
  };

  // The op clock when op `op` of step `step` is done; kStepStart is the start of the step.
  std::int64_t moment_after(std::int64_t step, OpIndex op) const { return step * (op_count_ + 1) + op + 1; }
  bool done_in(TransferIndex transfer, std::int64_t step) const { return steps_done_[transfer].load() > step; }
  void advance_clock(std::int64_t moment);
  void signal_compute();

  std::int64_t op_count_;
  std::vector<LaneNeeds> lanes_;
  IdVector<TransferIndex, std::atomic<std::int64_t>> steps_done_;
  std::int64_t step_ = -1;  // of the compute thread
  std::chrono::steady_clock::time_point step_start_;
  alignas(64) std::atomic<std::int64_t> clock_{-1};
  alignas(64) std::atomic<TransferIndex> compute_needs_{kNone};
  std::atomic<std::int32_t> compute_signal_{0};
  std::atomic<bool> stopped_{false};
  mutable std::mutex failure_mutex_;
  Status failure_;
};

}  // namespace sluice
