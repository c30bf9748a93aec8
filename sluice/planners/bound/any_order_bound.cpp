#include "sluice/planners/bound/any_order_bound.hpp"

#include <algorithm>
#include <functional>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/plan/verify/any_order_certificate.hpp"
#include "sluice/planners/bound/any_order_prices.hpp"
#include "sluice/planners/bound/step_to_bound.hpp"
#include "sluice/profile/rescheduled_times.hpp"

namespace sluice::planners {
namespace {

// Of sums that the simulator makes in another order.
constexpr double kBelowItsRounding = 1 - 1e-12;

// Those of the machine in which ops use no slow tier in place.
std::vector<TwoTiers> moving_views(const graph::Graph& graph, const profile::CostModel& costs,
                                   const memory::Machine& machine, std::span<const Bytes> budgets) {
  if (!has_prices(graph, machine)) return {};
  std::vector<TwoTiers> views = two_tier_views(costs, machine, budgets);
  const bool uses =
      std::any_of(machine.tiers.begin() + 1, machine.tiers.end(), std::mem_fn(&memory::Tier::addressable));
  std::erase_if(views, [&](const TwoTiers& view) { return view.in_place && uses; });
  return views;
}

// Everything that must run, once, by the processor that has most of it.
Seconds least_compute(const graph::Graph& graph, const plan::AnyOrder& order) {
  std::vector<Seconds> of_processor(1, 0);
  const auto add = [&](graph::OpIndex op, Seconds seconds) {
    const auto processor = as_index(graph.op(op).processor);
    if (of_processor.size() <= processor) of_processor.resize(processor + 1, 0);
    of_processor[processor] += seconds;
  };
  for (const plan::ChainOp& each : order.chain) add(each.op, each.seconds);
  for (const plan::FloatingOp& each : order.floating) add(each.op, each.seconds);
  return kBelowItsRounding * std::ranges::max(of_processor);
}

plan::AnyOrder order_of(const graph::Graph& graph, const profile::CostModel& costs) {
  std::vector<Seconds> op_seconds;
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) op_seconds.push_back(costs.op_seconds(op));
  return plan::find_any_order(graph, op_seconds);
}

// The plan's graph in its own order, with the kernels that the plan chooses.
struct ChosenStep {
  graph::Rescheduled step;
  profile::Profile profile;
};

std::optional<ChosenStep> chosen(const graph::Graph& graph, const profile::Profile& profile, const plan::Plan& plan) {
  const Result<std::vector<graph::OpChoice>> choices = plan::choices_by_op(plan, graph);
  if (!choices.ok()) return std::nullopt;
  ChosenStep result{graph::chosen_step(graph, *choices), {}};
  result.profile = profile::rescheduled_times(profile, result.step);
  return result;
}

}  // namespace

AnyOrderBound any_order_bound(const graph::Graph& graph, const profile::CostModel& costs,
                              const memory::Machine& machine, std::span<const Bytes> budgets, bool may_shrink,
                              Seconds time_limit) {
  const plan::AnyOrder order = order_of(graph, costs);
  AnyOrderBound bound{least_compute(graph, order), {}};
  for (const TwoTiers& tiers : moving_views(graph, costs, machine, budgets)) {
    const StepToBound step(graph, costs, machine, tiers, may_shrink);
    plan::StepPrices prices = find_any_order_prices(step.step, order, time_limit);
    const Seconds proved = plan::certified_any_order_seconds(step.step, order, prices).value();
    if (proved > bound.seconds) bound = {proved, std::move(prices)};
  }
  return bound;
}

void certify_any_order(const graph::Graph& graph, const profile::Profile& profile, const memory::Machine& machine,
                       plan::Plan& plan, Seconds time_limit) {
  const std::optional<ChosenStep> step = chosen(graph, profile, plan);
  if (!step) return;
  const profile::CostModel costs(step->step.graph, step->profile, machine);
  AnyOrderBound bound =
      any_order_bound(step->step.graph, costs, machine, plan.budgets, plan::staging_bytes(plan) > 0, time_limit);
  plan.lower_bound_seconds = bound.seconds;
  plan.any_order_prices = std::move(bound.prices);
  plan.order_bound_seconds = std::max(plan.order_bound_seconds, plan.lower_bound_seconds);
}

Result<Seconds> any_order_bound_by_prices(const graph::Graph& graph, const profile::Profile& profile,
                                          const memory::Machine& machine, const plan::Plan& plan) {
  const std::optional<ChosenStep> step = chosen(graph, profile, plan);
  Result<Seconds> best = Error{ErrorCode::kUnsupported, "no prices prove a bound on any order of this plan's step"};
  if (!step || !plan.any_order_prices) return best;
  const profile::CostModel costs(step->step.graph, step->profile, machine);
  const plan::AnyOrder order = order_of(step->step.graph, costs);
  for (const TwoTiers& tiers : moving_views(step->step.graph, costs, machine, plan.budgets)) {
    const StepToBound bounded(step->step.graph, costs, machine, tiers, plan::staging_bytes(plan) > 0);
    const Result<Seconds> proved = plan::certified_any_order_seconds(bounded.step, order, *plan.any_order_prices);
    if (!best.ok() || (proved.ok() && *proved > *best)) best = proved;
  }
  return best;
}

}  // namespace sluice::planners
