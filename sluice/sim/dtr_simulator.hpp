// Predicts a step under dynamic tensor rematerialization (policies/dtr): Dtr itself, with the times of the profile where
// an executor would measure.
//
// An op that runs again takes as long as it did the first time, and a copy as long as the fast tier takes to be read and
// written. What deciding takes is left out. Deterministic.
#pragma once

#include "sluice/policies/dtr/dtr.hpp"
#include "sluice/profile/cost_model.hpp"
#include "sluice/program/step_times.hpp"
#include "sluice/sim/time_breakdown.hpp"

namespace sluice::sim {

struct DtrTimeline {
  policies::DtrStep step;
  program::StepTimes times;  // ops: their first runs, empty for those left out; what is made again lies between
};

// `costs`: of `step` on `machine`. Errors: those of Dtr.
Result<DtrTimeline> simulate_dtr(const graph::Graph& step, const profile::CostModel& costs,
                                 const memory::Machine& machine, Bytes fast_bytes);

// Of a step that took so long, predicted or measured.
TimeBreakdown break_down(const policies::DtrStep& step, Seconds step_seconds);

}  // namespace sluice::sim
