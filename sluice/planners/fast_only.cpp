#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"

namespace sluice {

namespace {

Result<Plan> plan_fast_only(const PlanRequest& request) {
  const Liveness liveness = analyze_liveness(request.graph);
  PlanBuilder builder(request.graph, request.machine);
  for (TensorId tensor = 0; tensor < request.graph.tensor_count(); ++tensor) {
    add_tensor_schedule(builder, request.graph, liveness, tensor, kFastTier,
                        always_fast(liveness, tensor, is_persistent(request.graph.tensor(tensor).role)));
  }
  return builder.finish(request.budgets);
}

}  // namespace

PlannerEntry fast_only_planner() {
  return {.name = kBaselinePlanner,
          .summary = "everything in fast memory: the baseline that others are measured against",
          .plan = plan_fast_only,
          .traits = {.decides = "nothing", .any_graph = true}};
}

}  // namespace sluice
