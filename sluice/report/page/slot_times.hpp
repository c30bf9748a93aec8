// When the slots of a step begin, in milliseconds of its timeline: what turns a plan's time, which counts ops, into the
// clock that a page shows.
#pragma once

#include <vector>

#include "sluice/program/step_times.hpp"

namespace sluice::report {

// Entry k: when the last of the ops before slot k is done, 0 for the first; one more at the end, which is the step's.
// Room for an interval that begins or ends at slot k changes hands then. Never falls.
std::vector<double> slot_times_ms(const program::StepTimes& times);

}  // namespace sluice::report
