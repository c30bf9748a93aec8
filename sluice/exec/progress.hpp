// How far the running step is: what processors and the links' lanes tell each other.
//
// Why no condition variable: a step has thousands of ops and transfers, and every needless wake-up takes time from the
// compute threads. So progress is a set of counters that are only ever raised. A sleeper first publishes the one thing
// it needs. Whoever makes that thing happen wakes exactly that sleeper, once. Publishing and raising are both
// sequentially consistent: either the sleeper sees the event before it sleeps, or the other side sees the need.
//
// Nothing is reset between steps: each processor counts its ops by a clock that runs on over all steps, and every
// transfer counts the steps in which it was done.
//
// Threads: begin_step() on the main processor's compute thread, when no other computes; finish_op(),
// wait_for_transfer(), wait_for_op() and wait_for_step() on compute threads, one for each processor; op_done(),
// transfer_done() and finish_transfer() on lane threads, each with its own lane number; fail() and stop() anywhere.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/id_vector.hpp"
#include "sluice/base/result.hpp"
#include "sluice/program/program.hpp"

namespace sluice::exec {

class Progress {
 public:
  // `processor_of`: by OpIndex, each below `processors`.
  Progress(std::vector<ProcessorId> processor_of, std::size_t processors, std::size_t transfer_count,
           std::size_t lane_count);
  // All ops on the main processor.
  Progress(std::size_t op_count, std::size_t transfer_count, std::size_t lane_count)
      : Progress(std::vector<ProcessorId>(op_count, kMainProcessor), 1, transfer_count, lane_count) {}

  // How to wake a sleeping lane; set before the first step begins.
  void set_wake(std::size_t lane, std::function<void()> wake) { lanes_[lane].wake = std::move(wake); }

  void begin_step();
  void finish_op(graph::OpIndex op);
  // These sleep (after a short spin) until the thing is done in this step; false if the step was stopped instead.
  // `waiting`: the processor that waits.
  bool wait_for_transfer(program::TransferIndex transfer, ProcessorId waiting = kMainProcessor);
  bool wait_for_op(graph::OpIndex op, ProcessorId waiting);
  bool transfer_done(program::TransferIndex transfer) const { return done_in(transfer, step_); }
  bool op_done(graph::OpIndex op) const { return reached(moment_after(step_, op)); }

  // For a processor other than the main one: until step `step` (counted from 0) begins; false if it never will.
  bool wait_for_step(std::int64_t step, ProcessorId waiting);

  // For a lane that is in step `step` (counted from 0). False also promises to wake the lane when it becomes true.
  bool op_done(std::size_t lane, std::int64_t step, graph::OpIndex op);
  bool transfer_done(std::size_t lane, std::int64_t step, program::TransferIndex transfer);
  void finish_transfer(program::TransferIndex transfer);

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
  static constexpr program::TransferIndex kNone = -1;

  struct alignas(64) Clock {  // one cache line each, as below: some publish while others look
    std::atomic<std::int64_t> moment{-1};
  };
  struct alignas(64) LaneNeeds {
    std::atomic<std::int64_t> moment{kNever};
    std::atomic<program::TransferIndex> transfer{kNone};
    std::function<void()> wake;
  };
  struct alignas(64) ComputeNeeds {
    std::atomic<std::int64_t> moment{kNever};
    std::atomic<program::TransferIndex> transfer{kNone};
    std::atomic<std::int32_t> signal{0};
  };

  // What the clock of the op's processor shows when op `op` of step `step` is done; kStepStart is the start of the
  // step, which the main processor's clock shows.
  std::int64_t moment_after(std::int64_t step, graph::OpIndex op) const { return step * (op_count_ + 1) + op + 1; }
  ProcessorId whose(std::int64_t moment) const {
    const std::int64_t op = moment % (op_count_ + 1) - 1;
    return op == plan::kStepStart ? kMainProcessor : processor_of_[as_index(op)];
  }
  bool reached(std::int64_t moment) const { return clocks_[as_index(whose(moment))].moment.load() >= moment; }
  bool done_in(program::TransferIndex transfer, std::int64_t step) const { return steps_done_[transfer].load() > step; }
  void advance_clock(ProcessorId processor, std::int64_t moment);
  bool wait_for_moment(std::int64_t moment, ProcessorId waiting);
  // Until `done` holds, which whoever makes it hold signals to `needs`.
  template <typename Done>
  bool sleep_until(const Done& done, ComputeNeeds& needs) const;
  static void signal(ComputeNeeds& needs);

  std::int64_t op_count_;
  std::vector<ProcessorId> processor_of_;  // by OpIndex
  std::vector<Clock> clocks_;              // by ProcessorId
  std::vector<ComputeNeeds> computing_;    // by ProcessorId
  std::vector<LaneNeeds> lanes_;
  IdVector<program::TransferIndex, std::atomic<std::int64_t>> steps_done_;
  std::int64_t step_ = -1;  // of the compute threads
  std::chrono::steady_clock::time_point step_start_;
  std::atomic<bool> stopped_{false};
  mutable std::mutex failure_mutex_;
  Status failure_;
};

}  // namespace sluice::exec
