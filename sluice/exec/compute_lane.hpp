// One processor at work: runs its ops of a step in order, each as soon as what it waits for is done.
//
// The main processor's lane runs on the thread that calls run_step(). Every other one has a thread of its own, asleep
// between steps, whose OpenMP team is the processor's; where the host has cores enough for all processors, that thread
// keeps to its own. Lanes meet only where an op waits for another processor's (ComputeInstruction::op_waits).
//
// Errors: an op that fails, or throws, ends the step for everybody (Progress::fail).
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "sluice/exec/delay_injector.hpp"
#include "sluice/exec/lane.hpp"
#include "sluice/exec/op_observer.hpp"
#include "sluice/exec/resolved_program.hpp"
#include "sluice/kernels/backend.hpp"

namespace sluice::exec {

// What all compute lanes share; everything outlives them.
struct ComputeContext {
  kernels::CompiledGraph& compiled;
  const memory::Machine& machine;
  const program::Program& program;
  const ResolvedProgram& resolved;
  const std::vector<std::vector<graph::OpIndex>>& ops_of;  // by ProcessorId
  Progress& progress;
  program::StepTimes& trace;                        // each lane writes its own ops' entries
  const std::vector<std::unique_ptr<Lane>>& links;  // the main processor helps them to copy
  // Of the step that runs; changed between steps only.
  const kernels::StepContext* const& step;
  OpObserver* const& observer;
};

class ComputeLane {
 public:
  ComputeLane(ProcessorId processor, const ComputeContext& context);

  // The ops of one step, and for the main processor the end of the step: every op and transfer done.
  Status run_step();

  void start();  // a thread that runs every step until Progress::stop(); not for the main processor
  void join();   // after Progress::stop()

 private:
  void run();
  Status run_ops();
  Status wait_until_ready(graph::OpIndex op);
  Status run_op(graph::OpIndex op);
  Status run_observed(graph::OpIndex op);
  Status finish_step();
  void expect_help(bool expected);
  bool is_main() const { return processor_ == kMainProcessor; }
  void name_thread() const;

  ProcessorId processor_;
  int threads_;
  ComputeContext context_;
  const std::vector<graph::OpIndex>& ops_;
  std::vector<bool> awaited_;  // by position in ops_: another processor waits for it, or it is the last one
  DelayInjector delays_;
  RunTogether together_;  // this processor's threads, for the links' copies
  std::thread thread_;
};

}  // namespace sluice::exec
