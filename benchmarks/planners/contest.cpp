#include "benchmarks/planners/contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "sluice/plan/plan_graph.hpp"
#include "sluice/planners/bound/any_order_bound.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/smallest_budget.hpp"
#include "sluice/planners/schedule/keep_what_fits.hpp"
#include "sluice/policies/policy_settings.hpp"
#include "sluice/sim/policy_simulator.hpp"

namespace sluice::benchmarks {
namespace {

// Of the planner's own figures; 0 where it has no such figure.
double number_in(const plan::Plan& plan, std::string_view name) {
  const auto found = std::ranges::find(plan.planner_config, name, [](const auto& field) { return field.first; });
  return found == plan.planner_config.end() ? 0 : std::stod(found->second);
}

}  // namespace

Contest::Contest(const KeptProblem& problem, KeptMachine machine, Bytes whole)
    : problem_(problem), machine_(std::move(machine)), whole_(whole), profile_(problem.profile) {
  for (Seconds& seconds : profile_.op_seconds) seconds /= machine_.compute_speed;
  profile_.compute_fingerprint = machine_.machine.compute_fingerprint();
  const Result<plan::Plan> plan = planners::make_plan(planners::kBaselinePlanner, request(8 * whole));
  baseline_ = plan.ok() ? plan->predicted_step_seconds : 0;
}

PlannerRow Contest::row(const std::string& planner, int percent) {
  PlannerRow row{.problem = fmt::format("{} b{}", problem_.model, problem_.batch),
                 .machine = machine_.name,
                 .planner = planner,
                 .percent = percent,
                 .asked = align_down(whole_ * percent / 100, memory::kBlockAlignment)};
  row.budget = row.asked;
  const Status filled = policies::names_policy(planner) ? fill_by_policy(planner, row) : fill_by_plan(planner, row);
  if (!filled.ok()) row.failure = filled.error().message;
  return row;
}

planners::PlanRequest Contest::request(Bytes fast) const {
  planners::PlanRequest asked{problem_.graph, profile_, machine_.machine, {}};
  for (const memory::Tier& tier : machine_.machine.tiers) asked.budgets.push_back(tier.capacity);
  asked.budgets[memory::kFastTier] = fast;
  asked.schedule = planners::keep_what_fits(problem_.graph, profile_, fast);
  return asked;
}

Result<plan::Plan> Contest::at_smallest(const std::string& planner, PlannerRow& row) const {
  SLUICE_ASSIGN(row.budget, planners::smallest_feasible_bytes(planner, request(row.budget)));
  return planners::make_plan(planner, request(row.budget));
}

Status Contest::fill_by_plan(const std::string& planner, PlannerRow& row) {
  const auto begin = std::chrono::steady_clock::now();
  Result<plan::Plan> plan = planners::make_plan(planner, request(row.budget));
  row.planning = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!plan.ok() && wants_more_room(plan.error().code)) plan = at_smallest(planner, row);
  if (!plan.ok()) return plan.error();
  fill(row, *plan);
  return {};
}

Status Contest::fill_by_policy(const std::string& policy, PlannerRow& row) const {
  SLUICE_ASSIGN(const policies::ChosenPages chosen, policies::choose_pages(policy, row.budget));
  const profile::CostModel costs(problem_.graph, profile_, machine_.machine);
  SLUICE_ASSIGN(const sim::PolicyTimeline timeline,
                sim::predict_policy(chosen, problem_.graph, costs, machine_.machine));
  const sim::PolicyStep step = timeline.steady();
  row.slowdown = step.step_seconds / baseline_;
  row.moved = step.bytes_in() + step.bytes_out();
  return {};
}

void Contest::fill(PlannerRow& row, plan::Plan& plan) {
  row.slowdown = plan.predicted_step_seconds / baseline_;
  row.order_bound = bound_of(plan) / baseline_;
  row.bound = lowest_in(plan.budgets) / baseline_;
  row.expected = number_in(plan, "expected_seconds") / baseline_;
  row.proved = number_in(plan, "expected_seconds_at_least") / baseline_;
  row.solved = static_cast<int>(number_in(plan, "solved"));
  const plan::PlanGraph step(problem_.graph, plan);
  for (const plan::Migration& each : plan.migrations) row.moved += step.graph().tensor(each.tensor).bytes;
}

Seconds Contest::bound_of(plan::Plan& plan) {
  const auto known = std::ranges::find_if(bounds_, [&](const KnownBound& each) {
    return each.budget == plan.budgets[memory::kFastTier] && each.schedule == plan.schedule;
  });
  if (known != bounds_.end()) return known->seconds;
  planners::certify(problem_.graph, profile_, machine_.machine, plan, planners::kBoundSeconds);
  bounds_.push_back({plan.budgets[memory::kFastTier], plan.schedule, plan.order_bound_seconds});
  return plan.order_bound_seconds;
}

Seconds Contest::lowest_in(const std::vector<Bytes>& budgets) {
  const auto [known, is_new] = lowest_.try_emplace(budgets[memory::kFastTier]);
  if (is_new) {
    const profile::CostModel costs(problem_.graph, profile_, machine_.machine);
    known->second =
        planners::any_order_bound(problem_.graph, costs, machine_.machine, budgets, false, planners::kBoundSeconds)
            .seconds;
  }
  return known->second;
}

}  // namespace sluice::benchmarks
