#include "sluice/planners/schedule/slow_rooms.hpp"

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

std::vector<std::size_t> all_units(const std::vector<MovingUnit>& units) {
  std::vector<std::size_t> order(units.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// What a unit's copies cost in each of its tiers, the cheapest first.
struct Preference {
  std::vector<SlowTier> tiers;
  double lost = 0;  // in the dearest tier, an op and byte of the room it takes in the cheapest
};

class Pricing {
 public:
  Pricing(const profile::CostModel& costs, const LanePrice& price) : costs_(costs), price_(price) {}

  Preference preference(const MovingUnit& unit, const SlowDemand& demand, std::span<const SlowTier> tiers) const {
    std::vector<std::pair<double, std::size_t>> by_cost;
    for (std::size_t i = 0; i < tiers.size(); ++i) by_cost.push_back({cost(unit, demand, tiers[i]), i});
    std::ranges::sort(by_cost);
    Preference result;
    for (const auto& [seconds, i] : by_cost) result.tiers.push_back(tiers[i]);
    graph::OpIndex taken = 0;
    for (const Interval<graph::OpIndex>& range : demand.ranges) taken += range.end - range.begin;
    if (taken == 0) return result;
    result.lost = (by_cost.back().first - by_cost.front().first) / taken / static_cast<double>(unit.moved_bytes);
    return result;
  }

 private:
  double cost(const MovingUnit& unit, const SlowDemand& demand, const SlowTier& tier) const {
    double sum = 0;
    for (const graph::OpIndex op : demand.evicted_after) sum += price_(tier.outward, op) * seconds(tier.outward, unit);
    for (const graph::OpIndex op : demand.prefetched_for) sum += price_(tier.inward, op) * seconds(tier.inward, unit);
    return sum;
  }

  Seconds seconds(memory::LinkId link, const MovingUnit& unit) const {
    return costs_.transfer_seconds(link, unit.moved_bytes);
  }

  const profile::CostModel& costs_;
  const LanePrice& price_;
};

}  // namespace

SlowRooms::SlowRooms(std::span<const SlowTier> tiers, graph::OpIndex op_count, std::span<const Bytes> capacities)
    : tiers_(tiers.begin(), tiers.end()) {
  for (const SlowTier& tier : tiers) tables_.emplace_back(op_count, capacities[as_index(tier.id)]);
}

SlowTier SlowRooms::place(std::span<const SlowTier> tiers, std::span<const Interval<graph::OpIndex>> ranges,
                          Bytes bytes) {
  if (tiers_.size() == 1) return tiers_.front();
  for (const SlowTier& tier : tiers) {
    const auto known = std::ranges::find(tiers_, tier.id, &SlowTier::id);
    ReservationTable& table = tables_[as_index(known - tiers_.begin())];
    if (!std::ranges::all_of(ranges, [&](const auto& range) { return table.fits(range, bytes); })) continue;
    for (const Interval<graph::OpIndex>& range : ranges) table.reserve(range, bytes);
    return tier;
  }
  return tiers_.back();
}

void place_first_come(std::vector<MovingUnit>& units, SlowRooms rooms) {
  std::vector<std::size_t> order = all_units(units);
  const auto arrival = [&](std::size_t unit) {
    return units[unit].persistent ? plan::kStepStart : units[unit].range.begin;
  };
  std::ranges::stable_sort(order, std::ranges::less{}, arrival);
  for (const std::size_t unit : order) {
    if (units[unit].range.empty()) continue;
    units[unit].slow = rooms.place(std::span(&units[unit].range, 1), units[unit].moved_bytes);
  }
}

void place_by_price(std::vector<MovingUnit>& units, std::span<const SlowDemand> demands,
                    const profile::CostModel& costs, const LanePrice& price, SlowRooms rooms) {
  const Pricing pricing(costs, price);
  std::vector<Preference> preferences;
  for (std::size_t i = 0; i < units.size(); ++i) {
    preferences.push_back(pricing.preference(units[i], demands[i], rooms.tiers()));
  }
  std::vector<std::size_t> order = all_units(units);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t unit) { return preferences[unit].lost; });
  for (const std::size_t unit : order) {
    units[unit].slow = rooms.place(preferences[unit].tiers, demands[unit].ranges, units[unit].moved_bytes);
  }
}

}  // namespace sluice::planners
