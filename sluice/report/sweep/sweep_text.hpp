// A sweep over fast budgets (experiment/sweep_result.hpp) as tables for people.
#pragma once

#include <span>
#include <string>

#include "sluice/experiment/sweep_result.hpp"

namespace sluice::report {

// One row per planner and budget. Columns of measurements are there only if something was measured.
std::string describe_sweep(const experiment::SweptModel& swept);

// One row per model and planner: the smallest budget without loss beside everything.
std::string describe_no_loss(std::span<const experiment::SweptModel> models);

// "simulated with measured op times; slow memory emulated": where predicted numbers come from.
std::string provenance_text(bool emulated);

}  // namespace sluice::report
