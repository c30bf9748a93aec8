#include "sluice/planners/bound/certified_bound.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/encoding.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/plan/verify/certificate.hpp"
#include "sluice/planners/bound/in_place_costs.hpp"
#include "sluice/planners/bound/step_prices.hpp"
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

namespace {

// A machine as if it had two tiers, on which every plan of it takes no longer.
struct TwoTiers {
  Bytes fast = 0;
  TwoWayLink link;
  bool in_place = false;  // ops may use the slow one in place
};

// Links between memory that ops can use and tiers that they cannot. What copies over other links take from compute may
// be what these would take: they take nothing.
TwoWayLink far_link(const CostModel& costs, const Machine& machine, const std::vector<bool>& near) {
  std::vector<LinkId> in, out;
  for (LinkId id = 0; id < static_cast<LinkId>(machine.links.size()); ++id) {
    const bool from_near = near[as_index(machine.link(id).from)];
    const bool to_near = near[as_index(machine.link(id).to)];
    if (from_near != to_near) (to_near ? in : out).push_back(id);
  }
  TwoWayLink link;
  if (in.size() == 1 && out.size() == 1) {
    link = link_of_one_tier(costs, machine, in.front(), out.front());
  } else {
    BytesPerSecond all_in = 0, all_out = 0;
    for (const LinkId id : in) all_in += machine.link(id).bandwidth;
    for (const LinkId id : out) all_out += machine.link(id).bandwidth;
    link = {.in = {1 / all_in, 0}, .out = {0, 1 / all_out}};
  }
  link.in_lost = link.out_lost = 0;
  return link;
}

// All slow tiers as one; and where ops can use some of them and not others, those that they can use as fast as the fast
// one, and as large as all of them together.
std::vector<TwoTiers> two_tier_views(const CostModel& costs, const Machine& machine, std::span<const Bytes> budgets) {
  std::vector<TwoTiers> views{{budgets[kFastTier], two_way_link(costs, machine), true}};
  std::vector<bool> near;
  Bytes bytes = 0;
  for (TierId tier = 0; tier < static_cast<TierId>(machine.tiers.size()); ++tier) {
    near.push_back(tier == kFastTier || machine.addresses(kMainProcessor, tier));
    if (near.back()) bytes += budgets[as_index(tier)];
  }
  const auto count = std::ranges::count(near, true);
  if (count > 1 && count < std::ssize(near)) views.push_back({bytes, far_link(costs, machine, near), false});
  return views;
}

// A step as the certificate wants it, with what it refers to.
struct StepToBound {
  StepToBound(const Graph& graph, const CostModel& costs, const Machine& machine, const TwoTiers& tiers, bool encoded)
      : step{graph, op_seconds, tiers.link, tiers.fast, moved_share} {
    for (OpIndex op = 0; op < graph.op_count(); ++op) op_seconds.push_back(costs.op_seconds(op));
    for (TensorId id = 0; id < graph.tensor_count(); ++id) {
      const Tensor& tensor = graph.tensor(id);
      const bool may_shrink = encoded && tensor.bytes > 0;
      const Bytes moved = may_shrink ? costs.moved_bytes({id, tensor.bytes, own_encoding(tensor)}) : tensor.bytes;
      moved_share.push_back(moved < tensor.bytes ? static_cast<double>(moved) / static_cast<double>(tensor.bytes) : 1);
    }
    if (tiers.in_place) in_place = in_place_costs(graph, costs, machine);
    step.op_seconds = op_seconds;
    step.moved_share = moved_share;
    step.in_place = in_place;
  }
  StepToBound(const StepToBound&) = delete;
  StepToBound& operator=(const StepToBound&) = delete;

  std::vector<Seconds> op_seconds;
  std::vector<double> moved_share;
  std::vector<std::vector<UseInPlace>> in_place;
  BoundedStep step;
};

bool is_reckoned_with(const Graph& graph, const Machine& machine) {
  const auto on_main = [](const Op& op) { return op.processor == kMainProcessor; };
  return all_linked(machine) && std::ranges::all_of(graph.ops(), on_main);
}

bool encodes(const Plan& plan) { return staging_bytes(plan) > 0; }

}  // namespace

std::optional<CertifiedBound> certified_bound(const Graph& graph, const CostModel& costs, const Machine& machine,
                                              std::span<const Bytes> budgets, bool encoded, Seconds time_limit) {
  if (!is_reckoned_with(graph, machine)) return std::nullopt;
  const std::vector<TwoTiers> views = two_tier_views(costs, machine, budgets);
  std::optional<CertifiedBound> best;
  for (const TwoTiers& tiers : views) {
    const StepToBound bounded(graph, costs, machine, tiers, encoded);
    CertifiedBound bound{.link = tiers.link};
    bound.prices = find_prices(bounded.step, time_limit / static_cast<double>(views.size()));
    bound.seconds = certified_seconds(bounded.step, bound.prices).value();
    if (!best || bound.seconds > best->seconds) best = std::move(bound);
  }
  return best;
}

void certify(const Graph& graph, const Profile& profile, const Machine& machine, Plan& plan, Seconds time_limit) {
  if (plan.policy) return;
  const PlanCosts costs(graph, profile, machine, plan);
  auto bound = certified_bound(costs.graph(), costs.costs(), machine, plan.budgets, encodes(plan), time_limit);
  if (!bound || bound->seconds <= plan.lower_bound_seconds) return;
  plan.lower_bound_seconds = bound->seconds;
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

// Of those views of the machine that the prices can be of, the one of which they prove most.
Result<std::pair<Seconds, std::size_t>> best_view(const PlanCosts& costs, const Machine& machine, const Plan& plan) {
  const std::vector<TwoTiers> views = two_tier_views(costs.costs(), machine, plan.budgets);
  Result<std::pair<Seconds, std::size_t>> best = Error{ErrorCode::kBadInput, "no view of the machine"};
  for (std::size_t i = 0; i < views.size(); ++i) {
    const StepToBound bounded(costs.graph(), costs.costs(), machine, views[i], encodes(plan));
    const Result<Seconds> seconds = certified_seconds(bounded.step, *plan.prices);
    if (!seconds.ok()) return seconds.error();
    if (!best.ok() || *seconds > best->first) best = std::pair{*seconds, i};
  }
  return best;
}

TwoWayLink link_of_view(const Graph& graph, const Profile& profile, const Machine& machine, const Plan& plan,
                        std::size_t view) {
  return two_tier_views(PlanCosts(graph, profile, machine, plan).costs(), machine, plan.budgets)[view].link;
}

}  // namespace

std::optional<Worth> worth_by_prices(const Graph& graph, const Profile& profile, const Machine& machine,
                                     const Plan& plan) {
  constexpr std::size_t kMostNamed = 3;
  constexpr double kFaster = 1.1;
  const PlanCosts costs(graph, profile, machine, plan);
  if (!plan.prices || !is_reckoned_with(costs.graph(), machine)) return std::nullopt;
  const auto best = best_view(costs, machine, plan);
  if (!best.ok()) return std::nullopt;
  const auto [now, view] = *best;
  StepToBound bounded(costs.graph(), costs.costs(), machine, two_tier_views(costs.costs(), machine, plan.budgets)[view],
                      encodes(plan));
  // At the same prices: what they prove of a machine that is a little larger or faster (the envelope theorem).
  bounded.step.fast += kMiB;
  Worth worth{.per_mib = now - certified_seconds(bounded.step, *plan.prices).value()};
  bounded.step.fast -= kMiB;
  bounded.step.link = link_of_view(graph, profile, faster(machine, kFaster), plan, view);
  worth.per_tenth_of_speed = now - certified_seconds(bounded.step, *plan.prices).value();
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
  if (!plan.prices || !is_reckoned_with(costs.graph(), machine)) {
    return Error{ErrorCode::kUnsupported, "no prices prove a bound of this plan"};
  }
  const auto best = best_view(costs, machine, plan);
  if (!best.ok()) return best.error();
  return best->first;
}

}  // namespace sluice
