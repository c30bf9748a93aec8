// Where the time of a step goes, predicted or measured: HOME's figure 7 and Sentinel's figure 13.
//
//   computation         ops of the main processor that run for the first time
//   recomputation       ops that run again
//   exposed transfer    the main processor waits for a transfer, at an op or at the end of the step
//   processor wait      it waits for another processor's ops
//   other               between ops: what starting them takes
//
// These five add up to the step. Overlapped transfer is the time in which ops run while a link is busy: part of the
// first two, not in the sum. Of a wait for both, the part belongs to what came last. Cost: linear in ops and transfers,
// and n log n in transfers.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "sluice/base/json_reader.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::sim {

struct TimeBreakdown {
  Seconds computation = 0;
  Seconds recomputation = 0;
  Seconds exposed_transfer = 0;
  Seconds processor_wait = 0;
  Seconds other = 0;
  Seconds overlapped_transfer = 0;

  Seconds step() const { return computation + recomputation + exposed_transfer + processor_wait + other; }
};

// Milliseconds by name, as in all our output: "computation", "recomputation", "exposed_transfer", "processor_wait",
// "other", "overlapped_transfer".
nlohmann::json breakdown_json(const TimeBreakdown& parts);
Status read_json(const JsonReader& reader, TimeBreakdown& parts);

// By slot of the plan's schedule: whether the op of that slot has run before. Empty where there is no schedule.
std::vector<bool> ops_run_again(const plan::Plan& plan);

// `again` by OpIndex of the program; empty: none.
TimeBreakdown break_down(const program::Program& program, const std::vector<bool>& again,
                         const program::StepTimes& times);

}  // namespace sluice::sim
