#include "sluice/planners/bound/certified_bound.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/encoding.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/bound/in_place_costs.hpp"
#include "sluice/planners/bound/step_prices.hpp"
#include "sluice/planners/bound/step_to_bound.hpp"
#include "sluice/sim/plan_costs.hpp"

namespace sluice {
namespace {

// The least compute time lost, as a share of what the links' rates of loss add up to: they multiply, and stop short of
// all.
double least_share_lost(double in, double out, double in_speed, double out_speed) {
  const auto share = [](double a, double b) {
    const double speed = std::max(std::max(0.0, 1 - a) * std::max(0.0, 1 - b), kLeastComputeSpeed);
    return a + b > 0 ? (1 - speed) / (a + b) : 1;
  };
  return std::min({share(in, 0), share(0, out), share(in * in_speed, out * out_speed)});
}

TwoWayLink link_of_one_tier(const CostModel& costs, const Machine& machine, LinkId in, LinkId out) {
  const double in_seconds = 1 / machine.link(in).bandwidth;
  const double out_seconds = 1 / machine.link(out).bandwidth;
  const bool shares = costs.shares_with(in).has_value();
  const double in_speed = shares ? costs.shared_speed(in) : 1;
  const double out_speed = shares ? costs.shared_speed(out) : 1;
  const double lost = least_share_lost(costs.interference(in), costs.interference(out), in_speed, out_speed);
  TwoWayLink link;
  // Through the points (alone, nothing) and (both at shared speed); or, where taking turns carries more, all on one
  // line.
  link.in = {in_seconds, std::min(in_seconds, (1 - out_speed) / in_speed * in_seconds)};
  link.out = {std::min(out_seconds, (1 - in_speed) / out_speed * out_seconds), out_seconds};
  link.in_lost = lost * costs.interference(in) * in_seconds;
  link.out_lost = lost * costs.interference(out) * out_seconds;
  return link;
}

// Every slow tier has links both ways.
bool all_linked(const Machine& machine) {
  for (TierId tier = 1; tier < static_cast<TierId>(machine.tiers.size()); ++tier) {
    const auto out = machine.link_between(kFastTier, tier);
    const auto in = machine.link_between(tier, kFastTier);
    if (!out || !in || machine.link(*out).bandwidth <= 0 || machine.link(*in).bandwidth <= 0) return false;
  }
  return machine.tiers.size() > 1;
}

}  // namespace

TwoWayLink two_way_link(const CostModel& costs, const Machine& machine) {
  if (machine.tiers.size() == 2) {
    return link_of_one_tier(costs, machine, machine.link_between(1, kFastTier).value(),
                            machine.link_between(kFastTier, 1).value());
  }
  BytesPerSecond in = 0;
  BytesPerSecond out = 0;
  for (const Link& link : machine.links) {
    if (link.to == kFastTier) in += link.bandwidth;
    if (link.from == kFastTier) out += link.bandwidth;
  }
  return {.in = {1 / in, 0}, .out = {0, 1 / out}};
}

bool has_prices(const Graph& graph, const Machine& machine) {
  const auto on_main = [](const Op& op) { return op.processor == kMainProcessor; };
  return all_linked(machine) && std::ranges::all_of(graph.ops(), on_main);
}

StepToBound::StepToBound(const Graph& graph, const CostModel& costs, const Machine& machine, Bytes fast, bool encoded)
    : step{graph, op_seconds, two_way_link(costs, machine), fast, moved_share},
      in_place(in_place_costs(graph, costs, machine)) {
  for (OpIndex op = 0; op < graph.op_count(); ++op) op_seconds.push_back(costs.op_seconds(op));
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    const Tensor& tensor = graph.tensor(id);
    const bool may_shrink = encoded && tensor.bytes > 0;
    const Bytes moved = may_shrink ? costs.moved_bytes({id, tensor.bytes, own_encoding(tensor)}) : tensor.bytes;
    moved_share.push_back(moved < tensor.bytes ? static_cast<double>(moved) / static_cast<double>(tensor.bytes) : 1);
  }
  step.op_seconds = op_seconds;
  step.moved_share = moved_share;
  step.in_place = in_place;
}

namespace {

bool encodes(const Plan& plan) { return staging_bytes(plan) > 0; }

}  // namespace

std::optional<CertifiedBound> certified_bound(const Graph& graph, const CostModel& costs, const Machine& machine,
                                              std::span<const Bytes> budgets, bool encoded, Seconds time_limit) {
  if (!has_prices(graph, machine)) return std::nullopt;
  const StepToBound bounded(graph, costs, machine, budgets[kFastTier], encoded);
  CertifiedBound bound;
  bound.prices = find_prices(bounded.step, time_limit);
  bound.seconds = certified_seconds(bounded.step, bound.prices).value();
  return bound;
}

void certify(const Graph& graph, const Profile& profile, const Machine& machine, Plan& plan, Seconds time_limit) {
  if (plan.policy) return;
  const PlanCosts costs(graph, profile, machine, plan);
  auto bound = certified_bound(costs.graph(), costs.costs(), machine, plan.budgets, encodes(plan), time_limit);
  if (!bound || bound->seconds <= plan.order_bound_seconds) return;
  plan.order_bound_seconds = bound->seconds;
  plan.prices = std::move(bound->prices);
}

namespace {

Machine faster(Machine machine, double times) {
  for (Link& link : machine.links) {
    link.bandwidth *= times;
    link.shared_bandwidth *= times;
  }
  return machine;
}

TwoWayLink two_way_link_of(const Graph& graph, const Profile& profile, const Machine& machine, const Plan& plan) {
  return two_way_link(PlanCosts(graph, profile, machine, plan).costs(), machine);
}

}  // namespace

std::optional<Worth> worth_by_prices(const Graph& graph, const Profile& profile, const Machine& machine,
                                     const Plan& plan) {
  constexpr std::size_t kMostNamed = 3;
  constexpr double kFaster = 1.1;
  const PlanCosts costs(graph, profile, machine, plan);
  if (!plan.prices || !has_prices(costs.graph(), machine)) return std::nullopt;
  StepToBound bounded(costs.graph(), costs.costs(), machine, plan.budgets[kFastTier], encodes(plan));
  const auto now = certified_seconds(bounded.step, *plan.prices);
  if (!now.ok()) return std::nullopt;
  // At the same prices: what they prove of a machine that is a little larger or faster (the envelope theorem).
  bounded.step.fast += kMiB;
  Worth worth{.per_mib = *now - certified_seconds(bounded.step, *plan.prices).value()};
  bounded.step.fast -= kMiB;
  bounded.step.link = two_way_link_of(graph, profile, faster(machine, kFaster), plan);
  worth.per_tenth_of_speed = *now - certified_seconds(bounded.step, *plan.prices).value();
  const std::vector<double>& room = plan.prices->room;
  for (OpIndex op = 0; op < costs.graph().op_count(); ++op) worth.dearest.push_back(op);
  std::ranges::stable_sort(worth.dearest, std::ranges::greater{}, [&](OpIndex op) { return room[as_index(op)]; });
  worth.dearest.resize(std::min(worth.dearest.size(), kMostNamed));
  std::erase_if(worth.dearest, [&](OpIndex op) { return room[as_index(op)] <= 0; });
  for (const OpIndex op : worth.dearest) worth.dearest_share += room[as_index(op)] * kMiB;
  if (worth.per_mib > 0) worth.dearest_share /= worth.per_mib;
  return worth;
}

Result<Seconds> bound_by_prices(const Graph& graph, const Profile& profile, const Machine& machine, const Plan& plan) {
  const PlanCosts costs(graph, profile, machine, plan);
  if (!plan.prices || !has_prices(costs.graph(), machine)) {
    return Error{ErrorCode::kUnsupported, "no prices prove a bound of this plan"};
  }
  const StepToBound bounded(costs.graph(), costs.costs(), machine, plan.budgets[kFastTier], encodes(plan));
  return certified_seconds(bounded.step, *plan.prices);
}

}  // namespace sluice
