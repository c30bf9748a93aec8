#include "sluice/planners/bound/certified_bound.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/bound/step_prices.hpp"
#include "sluice/planners/bound/step_to_bound.hpp"
#include "sluice/sim/plan_costs.hpp"

namespace sluice::planners {
namespace {

bool encodes(const plan::Plan& plan) { return plan::staging_bytes(plan) > 0; }

}  // namespace

std::optional<CertifiedBound> certified_bound(const graph::Graph& graph, const profile::CostModel& costs,
                                              const memory::Machine& machine, std::span<const Bytes> budgets,
                                              bool may_shrink, Seconds time_limit) {
  if (!has_prices(graph, machine)) return std::nullopt;
  const std::vector<TwoTiers> views = two_tier_views(costs, machine, budgets);
  std::optional<CertifiedBound> best;
  for (const TwoTiers& tiers : views) {
    const StepToBound bounded(graph, costs, machine, tiers, may_shrink);
    CertifiedBound bound{.link = tiers.link};
    bound.prices = find_prices(bounded.step, time_limit / static_cast<double>(views.size()));
    bound.seconds = plan::certified_seconds(bounded.step, bound.prices).value();
    if (!best || bound.seconds > best->seconds) best = std::move(bound);
  }
  return best;
}

void certify(const graph::Graph& graph, const profile::Profile& profile, const memory::Machine& machine,
             plan::Plan& plan, Seconds time_limit) {
  const sim::PlanCosts costs(graph, profile, machine, plan);
  auto bound = certified_bound(costs.graph(), costs.costs(), machine, plan.budgets, encodes(plan), time_limit);
  if (!bound || bound->seconds <= plan.order_bound_seconds) return;
  plan.order_bound_seconds = bound->seconds;
  plan.prices = std::move(bound->prices);
}

namespace {

memory::Machine faster(memory::Machine machine, double times) {
  for (memory::Link& link : machine.links) {
    link.bandwidth *= times;
    link.shared_bandwidth *= times;
  }
  return machine;
}

// Of those views of the machine that the prices can be of, the one of which they prove most.
Result<std::pair<Seconds, std::size_t>> best_view(const sim::PlanCosts& costs, const memory::Machine& machine,
                                                  const plan::Plan& plan) {
  const std::vector<TwoTiers> views = two_tier_views(costs.costs(), machine, plan.budgets);
  Result<std::pair<Seconds, std::size_t>> best = Error{ErrorCode::kBadInput, "no view of the machine"};
  for (std::size_t i = 0; i < views.size(); ++i) {
    const StepToBound bounded(costs.graph(), costs.costs(), machine, views[i], encodes(plan));
    const Result<Seconds> seconds = plan::certified_seconds(bounded.step, *plan.prices);
    if (!seconds.ok()) return seconds.error();
    if (!best.ok() || *seconds > best->first) best = std::pair{*seconds, i};
  }
  return best;
}

plan::TwoWayLink link_of_view(const graph::Graph& graph, const profile::Profile& profile,
                              const memory::Machine& machine, const plan::Plan& plan, std::size_t view) {
  return two_tier_views(sim::PlanCosts(graph, profile, machine, plan).costs(), machine, plan.budgets)[view].link;
}

}  // namespace

std::optional<Worth> worth_by_prices(const graph::Graph& graph, const profile::Profile& profile,
                                     const memory::Machine& machine, const plan::Plan& plan) {
  constexpr std::size_t kMostNamed = 3;
  constexpr double kFaster = 1.1;
  const sim::PlanCosts costs(graph, profile, machine, plan);
  if (!plan.prices || !has_prices(costs.graph(), machine)) return std::nullopt;
  const auto best = best_view(costs, machine, plan);
  if (!best.ok()) return std::nullopt;
  const auto [now, view] = *best;
  StepToBound bounded(costs.graph(), costs.costs(), machine, two_tier_views(costs.costs(), machine, plan.budgets)[view],
                      encodes(plan));
  // At the same prices: what they prove of a machine that is a little larger or faster (the envelope theorem).
  bounded.step.fast += kMiB;
  Worth worth{.per_mib = now - plan::certified_seconds(bounded.step, *plan.prices).value()};
  bounded.step.fast -= kMiB;
  bounded.step.link = link_of_view(graph, profile, faster(machine, kFaster), plan, view);
  worth.per_tenth_of_speed = now - plan::certified_seconds(bounded.step, *plan.prices).value();
  const std::vector<double>& room = plan.prices->room;
  for (graph::OpIndex op = 0; op < costs.graph().op_count(); ++op) worth.dearest.push_back(op);
  std::ranges::stable_sort(worth.dearest, std::ranges::greater{},
                           [&](graph::OpIndex op) { return room[as_index(op)]; });
  if (worth.dearest.size() > kMostNamed) worth.dearest.erase(worth.dearest.begin() + kMostNamed, worth.dearest.end());
  std::erase_if(worth.dearest, [&](graph::OpIndex op) { return room[as_index(op)] <= 0; });
  for (const graph::OpIndex op : worth.dearest) worth.dearest_share += room[as_index(op)] * kMiB;
  if (worth.per_mib > 0) worth.dearest_share /= worth.per_mib;
  return worth;
}

Result<Seconds> bound_by_prices(const graph::Graph& graph, const profile::Profile& profile,
                                const memory::Machine& machine, const plan::Plan& plan) {
  const sim::PlanCosts costs(graph, profile, machine, plan);
  if (!plan.prices || !has_prices(costs.graph(), machine)) {
    return Error{ErrorCode::kUnsupported, "no prices prove a bound of this plan"};
  }
  const auto best = best_view(costs, machine, plan);
  if (!best.ok()) return best.error();
  return best->first;
}

}  // namespace sluice::planners
