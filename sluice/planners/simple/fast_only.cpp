#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::planners {

namespace {

Result<plan::Plan> plan_fast_only(const PlanRequest& request) {
  return everything_fast(request.graph, request.machine).finish(request.budgets);
}

}  // namespace

PlannerEntry fast_only_planner() {
  return {.name = kBaselinePlanner,
          .summary = "everything in fast memory: the baseline that others are measured against",
          .plan = plan_fast_only,
          .traits = {.decides = "nothing", .any_graph = true}};
}

}  // namespace sluice::planners
