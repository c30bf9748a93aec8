// Steps as a Chrome trace (chrome://tracing, ui.perfetto.dev): one lane for compute, one for each link, stalls in the
// compute lane, and a counter of the bytes that each tier holds.
//
//   compute      |conv1 ||bn1 |..stall..|conv2 |
//   dram -> file      |evict conv1.y  4.0 MiB|
//   dram bytes   ____/~~~~~~~~~~~~~~~\_______
//
// Counters follow the plan's residencies: room counts from the moment it is reserved to the moment it is given back,
// at the measured times of the ops that bound it; under dtr there are none, because nobody says what it holds. Times are microseconds since the first step's start. Steps follow
// each other without the gap that was between them. The trace's metadata says when a tier or link is emulated.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/policies/run.hpp"
#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::report {

struct TracedStep {
  std::int64_t step = 0;
  program::StepTimes trace;  // measured, or predicted
};

// `step` and `program` are those of the run's plan.
nlohmann::json chrome_trace(const plan::PlanGraph& step, const memory::Machine& machine, const policies::Run& run,
                            const program::Program& program, std::span<const TracedStep> steps);

}  // namespace sluice::report
