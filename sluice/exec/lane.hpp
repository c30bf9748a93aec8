// One transfer lane: a thread that owns the engine of one link. It hands the lane's transfers to the engine in program
// order, each as soon as it may join the queue (program.hpp), so that the link never rests for want of this thread.
//
// To everybody else the link serves one transfer at a time, whatever its engine does: a transfer that the engine
// finishes before an earlier one of the lane is reported behind that one, and its time begins where that one's ended.
//
// The thread is asleep in TransferEngine::wait() whenever nothing can be started or reported, so a lane takes no time
// from compute but what its engine needs. It resets its CPU affinity: threads started after OpenMP has bound its own
// inherit a single core, and would share it with a compute thread. The lane of a file also has itself woken before who
// computes has had its turn (wake_promptly.hpp).
//
// A transfer that fails ends the step for everybody (Progress::fail) with an error naming tensor, tiers and bytes. When
// a step is stopped the lane lets what its engine has under way run out, and its thread ends.
#pragma once

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "sluice/exec/progress.hpp"
#include "sluice/memory/transfer/transfer_engine.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::exec {

// What all lanes share; everything outlives them.
struct LaneContext {
  const graph::Graph& graph;
  const memory::Machine& machine;
  const program::Program& program;
  Progress& progress;
  std::vector<program::Span>& transfers;  // by TransferIndex: each lane writes its own entries
};

class Lane {
 public:
  // `number` is the lane's place in `context.progress`.
  Lane(std::size_t number, memory::LinkId link, std::unique_ptr<memory::TransferEngine> engine, LaneContext context);

  void start();
  void join();  // after Progress::stop(): every lane before any is destroyed, since lanes wake each other

  // TransferEngine's, for the compute thread.
  void help(const RunTogether& run) { engine_->help(run); }
  void expect_help(bool expected) { engine_->expect_help(expected); }

  std::vector<std::string> notes() const { return engine_->notes(); }

 private:
  void run();
  bool head_may_start();
  void start_head();
  void report();
  void report_in_order();
  bool is_of_a_file() const;
  void name_thread() const;
  Error describe(program::TransferIndex transfer, const Error& cause) const;
  program::TransferIndex head() const { return order_[next_]; }

  struct UnderWay {
    program::TransferIndex transfer = 0;
    bool finished = false;  // by the engine
  };

  std::size_t number_;
  memory::LinkId link_;
  std::unique_ptr<memory::TransferEngine> engine_;
  LaneContext context_;
  const std::vector<program::TransferIndex>& order_;
  std::size_t next_ = 0;   // position in order_ of the transfer to start next
  std::int64_t step_ = 0;  // the step that transfer belongs to
  std::vector<memory::FinishedTransfer> finished_;
  std::deque<UnderWay> under_way_;  // handed to the engine and not reported, in order
  std::thread thread_;
};

}  // namespace sluice::exec
