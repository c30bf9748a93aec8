// From a workload and a machine to plans: profile once, then ask any planner.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sluice/planners/planner.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::train {

// Budgets by tier. The fast tier gets `fast` (a percentage is of fast_only_bytes()). Without `fast`, or for the
// baseline planner, it gets all that the step takes (in the graph's own order). Slow tiers get their capacity.
// kInfeasible when the fast tier is not that large.
Result<std::vector<Bytes>> resolve_budgets(const graph::Graph& graph, const memory::Machine& machine,
                                           std::string_view planner, const std::optional<MemorySize>& fast);

struct FastBudget {
  std::optional<MemorySize> size;  // as resolve_budgets() takes it
  bool raise_to_feasible = false;  // where the planner cannot do with `size`, take the smallest budget that it can
  bool all_ops = false;            // every op runs in the graph's order: who watches the step counts in its ops
};

// What a planner is asked, with budgets resolved. Everything it refers to must outlive it.
struct BudgetedRequest {
  planners::PlanRequest request;
  std::optional<Bytes> raised_from;  // the fast budget asked for, where that was too small
};

// Where memory is left over, nothing is made again that fits (planners/schedule/keep_what_fits.hpp). Without a size, and
// for the baseline, the budget is what the step takes then.
//
// `accesses`: counted main-memory accesses of the workload's step, or nullptr. kInfeasible as resolve_budgets(). Where
// the budget may be raised, this makes a plan to find out whether it must be, and the planner's errors come too.
Result<BudgetedRequest> budgeted_request(const Workload& workload, const memory::Machine& machine,
                                         const profile::Profile& profile, std::string_view planner,
                                         const FastBudget& fast, const profile::AccessProfile* accesses = nullptr);

// A verified plan with its prediction. Who takes policies too asks for a run instead (policy_run.hpp). A raised budget is in
// the plan's budgets, and the budget that was asked for in raised_from. `watch`: of the search, or nullptr. Errors are the
// planner's; whoever prints them asks for advice (planning_advice.hpp).
Result<plan::Plan> plan_workload(const Workload& workload, const memory::Machine& machine,
                                 const profile::Profile& profile, std::string_view planner, const FastBudget& fast,
                                 const profile::AccessProfile* accesses = nullptr,
                                 std::shared_ptr<const planners::PlanningWatch> watch = nullptr);

// Everything in memory, in the graph's order, with all that it makes again; each tensor in one piece, as tightly as the
// exact search packs them (memory/offsets/offset_packer.hpp): the baseline is packed by the first order that does.
// The workload's choices do not count. Takes up to a second or two.
Result<plan::Plan> plan_tightly(const Workload& workload, const memory::Machine& machine);

// The same for a plan that the planner's search proposes (plan_search.hpp).
plan::Plan finish_proposal(std::string_view planner, const BudgetedRequest& asked, plan::Plan plan);

// The predicted step of the baseline: op after op by the workload's choices, with everything in the fast tier, and
// nothing made again that fits. Where everything does not fit, as if it did; several processors then take turns.
Seconds predicted_baseline_seconds(const Workload& workload, const memory::Machine& machine,
                                   const profile::Profile& profile);

}  // namespace sluice::train
