// Who runs the updates, where a machine has several processors: plans whose updates are another processor's, all of them
// or some, beside the one in which the main processor runs everything.
//
//   another processor with the fast tier      all updates its own; joint's own search plans the rest
//   one with a slow tier of its own (a host)  zero-offload's plans: of 100, 75, 50 and 25 % of the parameters, with and
//                                             without activations made again
//
// Their bits are those of the processors that they use: with equally many threads, the same.
#pragma once

#include <functional>

#include "sluice/planners/joint/moves.hpp"

namespace sluice::planners {

// The fastest by the simulator where it is clearly faster than `own`, which is of the main processor alone; the plan's
// planner_config says what was taken. `plan` plans a step whose ops have their processors already.
Result<TimedPlan> fastest_on_processors(const PlanRequest& request, Result<TimedPlan> own,
                                        const std::function<Result<TimedPlan>(const PlanRequest&)>& plan);

}  // namespace sluice::planners
