// Op times from steps that ran: every step records when each op began and ended (program/step_times.hpp).
//
// What an op waited for is not in its span. What the transfers beside it took of it is: that is taken off as the cost
// model charges it, spread over each transfer's time. An op with an operand in a slow tier takes longer than in fast
// memory, and ops of other processors are not the main one's: nothing is told of those.
#pragma once

#include <span>
#include <vector>

#include "sluice/profile/cost_model.hpp"
#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::sim {

// By op of the program: a sample of each step, or none. `costs`: of the program's graph and machine.
std::vector<std::vector<Seconds>> op_times_in_steps(const program::Program& program, const profile::CostModel& costs,
                                                    std::span<const program::StepTimes> steps);

}  // namespace sluice::sim
