// chen-sqrt: checkpoints every sqrt(n) layers, the rest made again (Chen et al. 2016, section 4;
// schedule/checkpoints.hpp). Everything stays in the fast tier.
#include <algorithm>
#include <cmath>

#include "sluice/graph/reschedule.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/checkpoints.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::planners {
namespace {

Result<plan::Plan> plan_chen_sqrt(const PlanRequest& request) {
  const double length = std::max(1.0, std::sqrt(static_cast<double>(forward_spans(request.graph))));
  SLUICE_ASSIGN(const std::vector<graph::OpIndex> schedule,
                schedule_with_checkpoints(request.graph, length, "chen-sqrt"));
  SLUICE_ASSIGN(const graph::Rescheduled step, graph::reschedule(request.graph, schedule));
  SLUICE_ASSIGN(plan::Plan plan, everything_fast(step.graph, request.machine).finish(request.budgets));
  plan.graph_fingerprint = request.graph.fingerprint();
  if (!graph::is_own_order(schedule, request.graph.op_count())) plan.schedule = schedule;
  return plan;
}

}  // namespace

PlannerEntry chen_sqrt_planner() {
  return {.name = "chen-sqrt",
          .summary = "checkpoints every sqrt(n) layers, the rest made again (Chen et al. 2016)",
          .plan = plan_chen_sqrt,
          .traits = {.recomputes = true, .whole_step = true}};
}

}  // namespace sluice::planners
