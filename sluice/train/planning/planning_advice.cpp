#include "sluice/train/planning/planning_advice.hpp"

#include <fmt/format.h>

#include "sluice/plan/rooms.hpp"
#include "sluice/planners/registry/advice.hpp"
#include "sluice/policies/policy_settings.hpp"

namespace sluice::train {
namespace {

// What would bring the largest op into the budget, where it is that which is too large.
std::string advice_on_slices(const Workload& workload, Bytes budget) {
  constexpr int kMostTimes = 8;
  if (plan::largest_working_set(workload.graph()) <= budget) return "";
  WorkloadOptions options = workload.options;
  for (int times = 2; times <= kMostTimes; times *= 2) {
    options.finer_slices = times * workload.options.finer_slices;
    if (options.finer_slices > graph::kFinestSlices) break;
    const Result<Workload> finer = build_workload(options);
    if (!finer.ok()) break;
    const Bytes largest = plan::largest_working_set(finer->graph());
    if (largest > budget) continue;
    return fmt::format(", or cut ops finer: with --finer-slices {} the largest needs {}", options.finer_slices,
                       format_bytes(largest));
  }
  return "; finer slices (--finer-slices) would not bring it below that budget";
}

}  // namespace

Error advised(const Workload& workload, const memory::Machine& machine, const profile::Profile& profile,
              std::string_view planner, const FastBudget& fast, const profile::AccessProfile* accesses,
              const Error& why) {
  if (!wants_more_room(why.code) || policies::names_policy(planner) || fast.raise_to_feasible) return why;
  const Result<BudgetedRequest> asked = budgeted_request(workload, machine, profile, planner, fast, accesses);
  if (!asked.ok()) return why;  // not even the budget is there
  Error error = advised(planner, asked->request, why);
  if (wants_more_room(error.code))
    error.message += advice_on_slices(workload, asked->request.budgets[memory::kFastTier]);
  return error;
}

}  // namespace sluice::train
