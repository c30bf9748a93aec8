#include "sluice/planners/registry/smallest_budget.hpp"

#include <algorithm>
#include <functional>

#include "sluice/plan/rooms.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::planners {
namespace {

// The planner must find a plan for fast_only_bytes().
Bytes smallest_feasible(const ChosenPlanner& planner, PlanRequest request) {
  Bytes low = 0;  // an op may have kernels that need less than the graph's own
  Bytes high = fast_only_bytes(request.graph);
  request.draft = true;
  request.watch = nullptr;  // nothing follows from a draft that was interrupted
  while (high - low > std::max<Bytes>(high / 100, kMiB)) {
    request.budgets[memory::kFastTier] = align_down(low + (high - low) / 2, memory::kBlockAlignment);
    const bool enough = !has_op_too_large(planner, request) && planner.entry->plan(request).ok();
    (enough ? high : low) = request.budgets[memory::kFastTier];
  }
  return high;
}

}  // namespace

Result<Bytes> smallest_feasible_bytes(const ChosenPlanner& planner, const PlanRequest& request) {
  if (reschedules(request)) return smallest_feasible_bytes(planner, RescheduledRequest(request).request());
  PlanRequest asked = with_settings(request, planner);
  asked.budgets[memory::kFastTier] = fast_only_bytes(request.graph);
  SLUICE_RETURN_IF_ERROR(planner.entry->plan(asked));
  return smallest_feasible(planner, asked);
}

Result<Bytes> smallest_feasible_bytes(std::string_view planner, const PlanRequest& request) {
  SLUICE_ASSIGN(const ChosenPlanner chosen, choose_planner(planner));
  return smallest_feasible_bytes(chosen, request);
}

bool has_op_too_large(const ChosenPlanner& planner, const PlanRequest& request) {
  const std::vector<memory::Tier>& tiers = request.machine.tiers;
  const bool others_do = std::any_of(tiers.begin() + 1, tiers.end(), std::mem_fn(&memory::Tier::addressable));
  if (others_do || gives_ops_to_processors(*planner.entry, planner.additions) ||
      chooses_implementations(*planner.entry, planner.additions)) {
    return false;
  }
  return plan::largest_working_set(request.graph) > request.budgets[memory::kFastTier];
}

}  // namespace sluice::planners
