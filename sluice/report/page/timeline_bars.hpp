// A step's timeline as bars in lanes, column by column, so that thousands of them stay small: what the page's timeline
// draws. The same spans as in a trace (report/chrome_trace.hpp), with what each is about.
#pragma once

#include <nlohmann/json.hpp>

#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::report {

// {"step_ms", "lanes": [{"name", "emulated"}], "kinds": [...],
//  "bars": {"lane", "kind", "begin_ms", "end_ms", "name", "tensors", "bytes", "cause"}}, the latter arrays of one length,
// by lane, and by begin within a lane. Lanes: processors, then links that carry anything. "tensors" are of the given
// graph: what is made again stands for the tensor that it is made again of. `plan` is of a planner, not of a policy.
nlohmann::json timeline_json(const plan::PlanGraph& step, const memory::Machine& machine, const plan::Plan& plan,
                             const program::Program& program, const program::StepTimes& times);

}  // namespace sluice::report
