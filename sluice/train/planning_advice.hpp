// What would help where a workload has no plan, for whoever prints the error.
#pragma once

#include "sluice/train/planning.hpp"

namespace sluice {

// `why`, plan_workload()'s error, with planners/registry/advice.hpp's, and whether finer slices would help. Runs the
// planner up to eighteen times, and may build the workload three times. Errors about anything but room, of policies, and
// where the budget was raised already stay as they are.
Error advised(const Workload& workload, const Machine& machine, const Profile& profile, std::string_view planner,
              const FastBudget& fast, const AccessProfile* accesses, const Error& why);

}  // namespace sluice
