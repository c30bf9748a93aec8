// What would help where a workload has no plan, for whoever prints the error.
#pragma once

#include "sluice/train/planning/planning.hpp"

namespace sluice::train {

// `why`, plan_workload()'s error, with planners/registry/advice.hpp's, and whether finer slices would help. Runs the
// planner up to eighteen times, and may build the workload three times. Errors about anything but room, of policies, and
// where the budget was raised already stay as they are.
Error advised(const Workload& workload, const memory::Machine& machine, const profile::Profile& profile,
              std::string_view planner, const FastBudget& fast, const profile::AccessProfile* accesses,
              const Error& why);

}  // namespace sluice::train
