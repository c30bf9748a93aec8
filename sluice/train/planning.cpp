#include "sluice/train/planning.hpp"

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
#include "sluice/policies/policy_settings.hpp"
#include "sluice/profile/cost_model.hpp"
#include "sluice/profile/rescheduled_times.hpp"
#include "sluice/train/estimated_profile.hpp"
#include "sluice/train/policy_run.hpp"

namespace sluice {
namespace {

bool wants_everything(std::string_view planner, const std::optional<MemorySize>& fast) {
  return !fast || planner == kBaselinePlanner;
}

Bytes capacity_of_fast(const Machine& machine) { return align_down(machine.tier(kFastTier).capacity, kBlockAlignment); }

Error too_large(std::string_view planner, Bytes wanted, const Machine& machine) {
  const Tier& fast = machine.tier(kFastTier);
  return {ErrorCode::kInfeasible,
          fmt::format("{} wants {} of tier '{}', which has {}; set a smaller --fast, or make the batch smaller",
                      planner, format_bytes(wanted), fast.name, format_bytes(fast.capacity)),
          wanted, fast.capacity};
}

// Of the graph as the request's schedule and choices make it, whose workspaces may be larger.
Bytes bytes_of_everything(const PlanRequest& request) {
  if (request.schedule.empty() && request.choices.empty()) return fast_only_bytes(request.graph);
  return fast_only_bytes(RescheduledRequest(request).request().graph);
}

Result<BudgetedRequest> resolved_request(const Workload& workload, const Machine& machine, const Profile& profile,
                                         std::string_view planner, const FastBudget& fast,
                                         const AccessProfile* accesses) {
  SLUICE_ASSIGN(std::vector<Bytes> budgets, resolve_budgets(workload.graph(), machine, planner, fast.size));
  const bool everything = wants_everything(planner, fast.size);
  if (everything && !fast.all_ops) budgets[kFastTier] = capacity_of_fast(machine);
  BudgetedRequest asked{{workload.graph(), profile, machine, std::move(budgets), accesses}, std::nullopt};
  PlanRequest& request = asked.request;
  request.choices = workload.choices;
  if (!fast.all_ops) {
    request.schedule = keep_what_fits(workload.graph(), profile, request.budgets[kFastTier], request.choices);
  }
  if (!everything) return asked;
  request.budgets[kFastTier] = bytes_of_everything(request);
  if (request.budgets[kFastTier] > capacity_of_fast(machine)) {
    return too_large(planner, request.budgets[kFastTier], machine);
  }
  return asked;
}

Status raise_budget(std::string_view planner, BudgetedRequest& asked) {
  asked.raised_from = asked.request.budgets[kFastTier];
  SLUICE_ASSIGN(asked.request.budgets[kFastTier], smallest_feasible_bytes(planner, asked.request));
  return {};
}

Plan with_raise(const BudgetedRequest& asked, Plan plan) {
  plan.raised_from = asked.raised_from;
  return plan;
}

}  // namespace

Result<std::vector<Bytes>> resolve_budgets(const Graph& graph, const Machine& machine, std::string_view planner,
                                           const std::optional<MemorySize>& fast) {
  std::vector<Bytes> budgets;
  for (const Tier& tier : machine.tiers) budgets.push_back(align_down(tier.capacity, kBlockAlignment));
  const Bytes whole = fast_only_bytes(graph);
  const Bytes wanted = wants_everything(planner, fast) ? whole : align_down(fast->resolve(whole), kBlockAlignment);
  if (wanted > budgets[kFastTier]) {
    return too_large(planner, wanted, machine);
  }
  budgets[kFastTier] = wanted;
  return budgets;
}

Result<BudgetedRequest> budgeted_request(const Workload& workload, const Machine& machine, const Profile& profile,
                                         std::string_view planner, const FastBudget& fast,
                                         const AccessProfile* accesses) {
  SLUICE_ASSIGN(BudgetedRequest asked, resolved_request(workload, machine, profile, planner, fast, accesses));
  if (!fast.raise_to_feasible) return asked;
  const Result<Plan> plan = make_plan(planner, asked.request);
  if (!plan.ok() && !wants_more_room(plan.error().code)) return plan.error();
  if (!plan.ok()) SLUICE_RETURN_IF_ERROR(raise_budget(planner, asked));
  return asked;
}

Result<Plan> plan_workload(const Workload& workload, const Machine& machine, const Profile& profile,
                           std::string_view planner, const FastBudget& fast, const AccessProfile* accesses,
                           std::shared_ptr<const PlanningWatch> watch) {
  if (names_policy(planner)) return plan_for_policy(workload, machine, profile, planner, fast);
  SLUICE_ASSIGN(BudgetedRequest asked, resolved_request(workload, machine, profile, planner, fast, accesses));
  asked.request.watch = std::move(watch);
  spdlog::debug("{} plans {} in {} of fast memory", planner, workload.graph().name,
                format_bytes(asked.request.budgets[kFastTier]));
  Result<Plan> plan = make_plan(planner, asked.request);
  if (plan.ok() || !fast.raise_to_feasible || !wants_more_room(plan.error().code)) return plan;
  SLUICE_RETURN_IF_ERROR(raise_budget(planner, asked));
  spdlog::debug("{} cannot do with that: it plans in {}", planner, format_bytes(asked.request.budgets[kFastTier]));
  SLUICE_ASSIGN(Plan raised, make_plan(planner, asked.request));
  return with_raise(asked, std::move(raised));
}

Result<Plan> plan_tightly(const Workload& workload, const Machine& machine) {
  const Profile profile = estimated_profile(workload.graph(), machine);  // nothing is decided by it
  SLUICE_ASSIGN(std::vector<Bytes> budgets, resolve_budgets(workload.graph(), machine, kBaselinePlanner, std::nullopt));
  SLUICE_ASSIGN(Plan plan, make_plan(kBaselinePlanner, {workload.graph(), profile, machine, budgets}));
  PlanBuilder builder(workload.graph(), machine, plan);
  builder.keep_whole();
  PackingFailure failure;
  budgets[kFastTier] = 0;
  if (builder.finish(budgets, &failure).ok()) return plan;
  // From the least that any packing can take: a little more each time, as far as that is less than the plan takes.
  const Bytes least = align_up(failure.bound, kBlockAlignment);
  for (Bytes more = 0; least + more < plan.arena_bytes[kFastTier]; more = std::max(2 * more, least / 256)) {
    budgets[kFastTier] = align_up(least + more, kBlockAlignment);
    Result<Plan> tighter = builder.finish(budgets);
    if (!tighter.ok()) continue;
    return finish_plan(kBaselinePlanner, {workload.graph(), profile, machine, budgets}, std::move(tighter).value());
  }
  return plan;
}

Plan finish_proposal(std::string_view planner, const BudgetedRequest& asked, Plan plan) {
  return with_raise(asked, finish_plan(planner, asked.request, std::move(plan)));
}

Seconds predicted_baseline_seconds(const Workload& workload, const Machine& machine, const Profile& profile) {
  const std::vector<OpIndex> kept =
      keep_what_fits(workload.graph(), profile, capacity_of_fast(machine), workload.choices);
  const Rescheduled step = chosen_step(workload.graph(), kept, workload.choices);
  const auto on_main = [](const Op& op) { return op.processor == kMainProcessor; };
  if (!std::ranges::all_of(step.graph.ops(), on_main)) {
    const Result<Plan> plan = plan_workload(workload, machine, profile, kBaselinePlanner, {});
    if (plan.ok()) return plan->predicted_step_seconds;
  }
  const Profile times = rescheduled_times(profile, step);
  return CostModel(step.graph, times, machine).compute_seconds();
}

}  // namespace sluice
