#include "sluice/planners/bound/two_tiers.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

// The least compute time lost, as a share of what the links' rates of loss add up to: they multiply, and stop short of
// all.
double least_share_lost(double in, double out, double in_speed, double out_speed) {
  const auto share = [](double a, double b) {
    const double speed = std::max(std::max(0.0, 1 - a) * std::max(0.0, 1 - b), profile::kLeastComputeSpeed);
    return a + b > 0 ? (1 - speed) / (a + b) : 1;
  };
  return std::min({share(in, 0), share(0, out), share(in * in_speed, out * out_speed)});
}

plan::TwoWayLink link_of_one_tier(const profile::CostModel& costs, const memory::Machine& machine, memory::LinkId in,
                                  memory::LinkId out) {
  const double in_seconds = 1 / machine.link(in).bandwidth;
  const double out_seconds = 1 / machine.link(out).bandwidth;
  const bool shares = costs.shares_with(in).has_value();
  const double in_speed = shares ? costs.shared_speed(in) : 1;
  const double out_speed = shares ? costs.shared_speed(out) : 1;
  const double lost = least_share_lost(costs.interference(in), costs.interference(out), in_speed, out_speed);
  plan::TwoWayLink link;
  // Through the points (alone, nothing) and (both at shared speed); or, where taking turns carries more, all on one
  // line.
  link.in = {in_seconds, std::min(in_seconds, (1 - out_speed) / in_speed * in_seconds)};
  link.out = {std::min(out_seconds, (1 - in_speed) / out_speed * out_seconds), out_seconds};
  link.in_lost = lost * costs.interference(in) * in_seconds;
  link.out_lost = lost * costs.interference(out) * out_seconds;
  return link;
}

// Every slow tier has links both ways.
bool all_linked(const memory::Machine& machine) {
  for (memory::TierId tier = 1; tier < as_id<memory::TierId>(machine.tiers.size()); ++tier) {
    const auto out = machine.link_between(memory::kFastTier, tier);
    const auto in = machine.link_between(tier, memory::kFastTier);
    if (!out || !in || machine.link(*out).bandwidth <= 0 || machine.link(*in).bandwidth <= 0) return false;
  }
  return machine.tiers.size() > 1;
}

}  // namespace

plan::TwoWayLink two_way_link(const profile::CostModel& costs, const memory::Machine& machine) {
  if (machine.tiers.size() == 2) {
    return link_of_one_tier(costs, machine, machine.link_between(1, memory::kFastTier).value(),
                            machine.link_between(memory::kFastTier, 1).value());
  }
  BytesPerSecond in = 0;
  BytesPerSecond out = 0;
  for (const memory::Link& link : machine.links) {
    if (link.to == memory::kFastTier) in += link.bandwidth;
    if (link.from == memory::kFastTier) out += link.bandwidth;
  }
  return {.in = {1 / in, 0}, .out = {0, 1 / out}};
}

namespace {

// Links between memory that ops can use and tiers that they cannot. What copies over other links take from compute may
// be what these would take: they take nothing.
plan::TwoWayLink far_link(const profile::CostModel& costs, const memory::Machine& machine,
                          const std::vector<bool>& near) {
  std::vector<memory::LinkId> in, out;
  for (memory::LinkId id = 0; id < as_id<memory::LinkId>(machine.links.size()); ++id) {
    const bool from_near = near[as_index(machine.link(id).from)];
    const bool to_near = near[as_index(machine.link(id).to)];
    if (from_near != to_near) (to_near ? in : out).push_back(id);
  }
  plan::TwoWayLink link;
  if (in.size() == 1 && out.size() == 1) {
    link = link_of_one_tier(costs, machine, in.front(), out.front());
  } else {
    BytesPerSecond all_in = 0, all_out = 0;
    for (const memory::LinkId id : in) all_in += machine.link(id).bandwidth;
    for (const memory::LinkId id : out) all_out += machine.link(id).bandwidth;
    link = {.in = {1 / all_in, 0}, .out = {0, 1 / all_out}};
  }
  link.in_lost = link.out_lost = 0;
  return link;
}

}  // namespace

std::vector<TwoTiers> two_tier_views(const profile::CostModel& costs, const memory::Machine& machine,
                                     std::span<const Bytes> budgets) {
  std::vector<TwoTiers> views{{budgets[memory::kFastTier], two_way_link(costs, machine), true}};
  std::vector<bool> near;
  Bytes bytes = 0;
  for (memory::TierId tier = 0; tier < as_id<memory::TierId>(machine.tiers.size()); ++tier) {
    near.push_back(tier == memory::kFastTier || machine.addresses(kMainProcessor, tier));
    if (near.back()) bytes += budgets[as_index(tier)];
  }
  const auto count = std::ranges::count(near, true);
  if (count > 1 && count < std::ssize(near)) views.push_back({bytes, far_link(costs, machine, near), false});
  return views;
}

bool has_prices(const graph::Graph& graph, const memory::Machine& machine) {
  const auto on_main = [](const graph::Op& op) { return op.processor == kMainProcessor; };
  return all_linked(machine) && std::ranges::all_of(graph.ops(), on_main);
}

}  // namespace sluice::planners
