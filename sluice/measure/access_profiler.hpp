// Measures an access profile on an executor that is ready to run: warm-up, normal steps for comparison, one step with
// every touch of main memory counted (Sentinel §III-A: one step is enough, because all steps are alike).
//
// The steps are real ones: they train, and to the same bits as without counting. Costs at least five steps. The counted
// step is to take at most about five times a normal one. If `largest_chunk` is 0, the smallest chunk that promises this
// is chosen; if the promise is broken, the step is counted again in larger chunks. The counted step needs no room in
// any tier; the counter's own tables are one byte a chunk.
//
// Calling thread only. Errors: those of PageTracker, of open_hardware_sampler() and of the steps.
#pragma once

#include <functional>

#include "sluice/exec/executor.hpp"
#include "sluice/profile/access_profile.hpp"

namespace sluice::measure {

inline constexpr double kMostSlowdown = 5;  // of the counted step

struct AccessCounting {
  Bytes tlb_reach = 0;      // of the software TLB; 0: the processor's, of one core for each compute thread
  Bytes largest_chunk = 0;  // a power of two of at least a page; 0: chosen
  bool hardware_sampling = false;
};

// Runs the executor's next step and returns how long it took.
using StepRunner = std::function<Result<Seconds>()>;

Result<profile::AccessProfile> profile_accesses(exec::Executor& executor, const graph::Graph& graph,
                                                const program::Program& program, const memory::Machine& machine,
                                                const AccessCounting& counting, const StepRunner& run_next_step);

// The smallest chunk with which counting one step promises to take at most `extra` seconds more; at most `limit`.
Bytes choose_chunk(const graph::Graph& graph, Seconds extra, Bytes limit);

}  // namespace sluice::measure
