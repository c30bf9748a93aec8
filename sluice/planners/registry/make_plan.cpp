#include "sluice/planners/registry/make_plan.hpp"

#include <fmt/format.h>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/bound/lower_bound.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/registry/smallest_budget.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/sim/planned_step.hpp"

namespace sluice::planners {
namespace {

// Other planners have every operand in the fast tier sooner or later.
Status check_processors(const PlannerEntry& entry, const PlanRequest& request) {
  if (entry.gives_ops_to_processors) return {};
  for (const graph::Op& op : request.graph.ops()) {
    if (request.machine.addresses(op.processor, memory::kFastTier)) continue;
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{} cannot give {} to processor '{}', which cannot use tier {} in place: add that to its tiers",
                    entry.name, op.name, request.machine.processors[as_index(op.processor)].name,
                    request.machine.tier(memory::kFastTier).name)};
  }
  return {};
}

// What holds whatever the planner does.
Status check_request(const ChosenPlanner& planner, const PlanRequest& request) {
  SLUICE_RETURN_IF_ERROR(check_processors(*planner.entry, request));
  if (!has_op_too_large(planner, request)) return {};
  graph::OpIndex op = 0;
  const Bytes needed = plan::largest_working_set(request.graph, &op);
  return Error{ErrorCode::kInfeasible,
               fmt::format("{} cannot train {} in {} of fast memory: {} needs {} for its operands alone",
                           planner.entry->name, request.graph.name, format_bytes(request.budgets[memory::kFastTier]),
                           request.graph.op(op).name, format_bytes(needed)),
               needed, request.budgets[memory::kFastTier]};
}

}  // namespace

bool reschedules(const PlanRequest& request) {
  const bool chooses = !request.choices.empty() && !graph::is_own_choice(request.graph, request.choices);
  return chooses || !request.schedule.empty();
}

Result<plan::Plan> make_plan(const ChosenPlanner& planner, const PlanRequest& request) {
  if (reschedules(request)) {
    const RescheduledRequest chosen(request);
    SLUICE_ASSIGN(plan::Plan plan, make_plan(planner, chosen.request()));
    return finish_plan(planner.entry->name, request, chosen.for_given_graph(std::move(plan)));
  }
  const PlanRequest asked = with_settings(request, planner);
  SLUICE_RETURN_IF_ERROR(check_request(planner, asked));
  SLUICE_ASSIGN(plan::Plan plan, planner.entry->plan(asked));
  return finish_plan(planner.entry->name, request, std::move(plan));
}

Result<plan::Plan> make_plan(std::string_view planner, const PlanRequest& request) {
  SLUICE_ASSIGN(const ChosenPlanner chosen, choose_planner(planner));
  SLUICE_ASSIGN(plan::Plan plan, make_plan(chosen, request));
  plan.planner = planner;
  return plan;
}

Result<std::unique_ptr<PlanSearch>> make_search(std::string_view planner, const PlanRequest& request) {
  if (reschedules(request)) {
    auto chosen = std::make_shared<const RescheduledRequest>(request);
    SLUICE_ASSIGN(auto search, make_search(planner, chosen->request()));
    if (search == nullptr) return search;
    return std::unique_ptr<PlanSearch>(std::make_unique<RescheduledSearch>(std::move(chosen), std::move(search)));
  }
  SLUICE_ASSIGN(const ChosenPlanner chosen, choose_planner(planner));
  if (!chosen.entry->search) return std::unique_ptr<PlanSearch>();
  SLUICE_RETURN_IF_ERROR(check_request(chosen, request));
  return chosen.entry->search(with_settings(request, chosen));
}

plan::Plan finish_plan(std::string_view planner, const PlanRequest& request, plan::Plan plan) {
  plan.planner = planner;
  const auto step = sim::PlannedStep::make(request.graph, request.profile, request.machine, plan).value();
  plan.predicted_step_seconds = step.simulated().step_seconds;
  plan.order_bound_seconds =
      step_lower_bound(step.graph(), step.costs(), request.machine, request.budgets, plan::staging_bytes(plan) > 0);
  return plan;
}

}  // namespace sluice::planners
