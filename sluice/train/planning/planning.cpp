#include "sluice/train/planning/planning.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "sluice/graph/choose.hpp"
#include "sluice/plan/plan_builder.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/smallest_budget.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/planners/schedule/keep_what_fits.hpp"
#include "sluice/profile/cost_model.hpp"
#include "sluice/profile/rescheduled_times.hpp"
#include "sluice/train/planning/estimated_profile.hpp"
#include "sluice/train/planning/policy_run.hpp"

namespace sluice::train {
namespace {

bool wants_everything(std::string_view planner, const std::optional<MemorySize>& fast) {
  return !fast || planner == planners::kBaselinePlanner;
}

Bytes capacity_of_fast(const memory::Machine& machine) {
  return align_down(machine.tier(memory::kFastTier).capacity, memory::kBlockAlignment);
}

Error too_large(std::string_view planner, Bytes wanted, const memory::Machine& machine) {
  const memory::Tier& fast = machine.tier(memory::kFastTier);
  return {ErrorCode::kInfeasible,
          fmt::format("{} wants {} of tier '{}', which has {}; set a smaller --fast, or make the batch smaller",
                      planner, format_bytes(wanted), fast.name, memory::describe_capacity(fast)),
          wanted, fast.capacity};
}

// Of the graph as the request's schedule and choices make it, whose workspaces may be larger.
Bytes bytes_of_everything(const planners::PlanRequest& request) {
  if (request.schedule.empty() && request.choices.empty()) return planners::fast_only_bytes(request.graph);
  return planners::fast_only_bytes(planners::RescheduledRequest(request).request().graph);
}

Result<BudgetedRequest> resolved_request(const Workload& workload, const memory::Machine& machine,
                                         const profile::Profile& profile, std::string_view planner,
                                         const FastBudget& fast, const profile::AccessProfile* accesses) {
  SLUICE_ASSIGN(std::vector<Bytes> budgets, resolve_budgets(workload.graph(), machine, planner, fast.size));
  const bool everything = wants_everything(planner, fast.size);
  if (everything && !fast.all_ops) budgets[memory::kFastTier] = capacity_of_fast(machine);
  BudgetedRequest asked{{workload.graph(), profile, machine, std::move(budgets), accesses}, std::nullopt};
  planners::PlanRequest& request = asked.request;
  request.choices = workload.choices;
  if (!fast.all_ops) {
    request.schedule =
        planners::keep_what_fits(workload.graph(), profile, request.budgets[memory::kFastTier], request.choices);
  }
  if (!everything) return asked;
  request.budgets[memory::kFastTier] = bytes_of_everything(request);
  if (request.budgets[memory::kFastTier] > capacity_of_fast(machine)) {
    return too_large(planner, request.budgets[memory::kFastTier], machine);
  }
  return asked;
}

Status raise_budget(std::string_view planner, BudgetedRequest& asked) {
  asked.raised_from = asked.request.budgets[memory::kFastTier];
  SLUICE_ASSIGN(asked.request.budgets[memory::kFastTier], planners::smallest_feasible_bytes(planner, asked.request));
  return {};
}

plan::Plan with_raise(const BudgetedRequest& asked, plan::Plan plan) {
  plan.raised_from = asked.raised_from;
  return plan;
}

}  // namespace

Result<std::vector<Bytes>> resolve_budgets(const graph::Graph& graph, const memory::Machine& machine,
                                           std::string_view planner, const std::optional<MemorySize>& fast) {
  std::vector<Bytes> budgets;
  for (const memory::Tier& tier : machine.tiers) budgets.push_back(align_down(tier.capacity, memory::kBlockAlignment));
  const Bytes whole = planners::fast_only_bytes(graph);
  const Bytes wanted =
      wants_everything(planner, fast) ? whole : align_down(fast->resolve(whole), memory::kBlockAlignment);
  if (wanted > budgets[memory::kFastTier]) {
    return too_large(planner, wanted, machine);
  }
  budgets[memory::kFastTier] = wanted;
  return budgets;
}

Result<BudgetedRequest> budgeted_request(const Workload& workload, const memory::Machine& machine,
                                         const profile::Profile& profile, std::string_view planner,
                                         const FastBudget& fast, const profile::AccessProfile* accesses) {
  SLUICE_ASSIGN(BudgetedRequest asked, resolved_request(workload, machine, profile, planner, fast, accesses));
  if (!fast.raise_to_feasible) return asked;
  const Result<plan::Plan> plan = planners::make_plan(planner, asked.request);
  if (!plan.ok() && !wants_more_room(plan.error().code)) return plan.error();
  if (!plan.ok()) SLUICE_RETURN_IF_ERROR(raise_budget(planner, asked));
  return asked;
}

Result<plan::Plan> plan_workload(const Workload& workload, const memory::Machine& machine,
                                 const profile::Profile& profile, std::string_view planner, const FastBudget& fast,
                                 const profile::AccessProfile* accesses,
                                 std::shared_ptr<const planners::PlanningWatch> watch) {
  SLUICE_RETURN_IF_ERROR(check_is_planner(planner));
  SLUICE_ASSIGN(BudgetedRequest asked, resolved_request(workload, machine, profile, planner, fast, accesses));
  asked.request.watch = std::move(watch);
  spdlog::debug("{} plans {} in {} of fast memory", planner, workload.graph().name,
                format_bytes(asked.request.budgets[memory::kFastTier]));
  Result<plan::Plan> plan = planners::make_plan(planner, asked.request);
  if (plan.ok() || !fast.raise_to_feasible || !wants_more_room(plan.error().code)) return plan;
  SLUICE_RETURN_IF_ERROR(raise_budget(planner, asked));
  spdlog::debug("{} cannot do with that: it plans in {}", planner,
                format_bytes(asked.request.budgets[memory::kFastTier]));
  SLUICE_ASSIGN(plan::Plan raised, planners::make_plan(planner, asked.request));
  return with_raise(asked, std::move(raised));
}

Result<plan::Plan> plan_tightly(const Workload& workload, const memory::Machine& machine) {
  const profile::Profile profile = estimated_profile(workload.graph(), machine);  // nothing is decided by it
  SLUICE_ASSIGN(std::vector<Bytes> budgets,
                resolve_budgets(workload.graph(), machine, planners::kBaselinePlanner, std::nullopt));
  SLUICE_ASSIGN(plan::Plan plan,
                planners::make_plan(planners::kBaselinePlanner, {workload.graph(), profile, machine, budgets}));
  plan::PlanBuilder builder(workload.graph(), machine, plan);
  builder.keep_whole();
  plan::PackingFailure failure;
  budgets[memory::kFastTier] = 0;
  if (builder.finish(budgets, &failure).ok()) return plan;
  // From the least that any packing can take: a little more each time, as far as that is less than the plan takes.
  const Bytes least = align_up(failure.bound, memory::kBlockAlignment);
  for (Bytes more = 0; least + more < plan.arena_bytes[memory::kFastTier]; more = std::max(2 * more, least / 256)) {
    budgets[memory::kFastTier] = align_up(least + more, memory::kBlockAlignment);
    Result<plan::Plan> tighter = builder.finish(budgets);
    if (!tighter.ok()) continue;
    return planners::finish_plan(planners::kBaselinePlanner, {workload.graph(), profile, machine, budgets},
                                 std::move(tighter).value());
  }
  return plan;
}

plan::Plan finish_proposal(std::string_view planner, const BudgetedRequest& asked, plan::Plan plan) {
  return with_raise(asked, planners::finish_plan(planner, asked.request, std::move(plan)));
}

Seconds predicted_baseline_seconds(const Workload& workload, const memory::Machine& machine,
                                   const profile::Profile& profile) {
  const std::vector<graph::OpIndex> kept =
      planners::keep_what_fits(workload.graph(), profile, capacity_of_fast(machine), workload.choices);
  const graph::Rescheduled step = graph::chosen_step(workload.graph(), kept, workload.choices);
  const auto on_main = [](const graph::Op& op) { return op.processor == kMainProcessor; };
  if (!std::ranges::all_of(step.graph.ops(), on_main)) {
    const Result<plan::Plan> plan = plan_workload(workload, machine, profile, planners::kBaselinePlanner, {});
    if (plan.ok()) return plan->predicted_step_seconds;
  }
  const profile::Profile times = profile::rescheduled_times(profile, step);
  return profile::CostModel(step.graph, times, machine).compute_seconds();
}

}  // namespace sluice::train
