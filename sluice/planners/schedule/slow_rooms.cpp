#include "sluice/planners/schedule/slow_rooms.hpp"

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

std::vector<std::size_t> all_units(const std::vector<MovingUnit>& units) {
  std::vector<std::size_t> order(units.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Of a unit that was copied: copies an op of room taken.
double traffic(const SlowDemand& demand) {
  OpIndex taken = 0;
  for (const Interval<OpIndex>& range : demand.ranges) taken += range.end - range.begin;
  return taken == 0 ? 0 : static_cast<double>(demand.copies) / taken;
}

}  // namespace

SlowRooms::SlowRooms(std::span<const SlowTier> tiers, OpIndex op_count, std::span<const Bytes> capacities)
    : tiers_(tiers.begin(), tiers.end()) {
  for (const SlowTier& tier : tiers.first(tiers.size() - 1)) nearer_.emplace_back(op_count, capacities[as_index(tier.id)]);
}

SlowTier SlowRooms::place(std::span<const Interval<OpIndex>> ranges, Bytes bytes) {
  for (std::size_t i = 0; i < nearer_.size(); ++i) {
    if (!std::ranges::all_of(ranges, [&](const auto& range) { return nearer_[i].fits(range, bytes); })) continue;
    for (const Interval<OpIndex>& range : ranges) nearer_[i].reserve(range, bytes);
    return tiers_[i];
  }
  return tiers_.back();
}

void place_first_come(std::vector<MovingUnit>& units, SlowRooms rooms) {
  std::vector<std::size_t> order = all_units(units);
  const auto arrival = [&](std::size_t unit) { return units[unit].persistent ? kStepStart : units[unit].range.begin; };
  std::ranges::stable_sort(order, std::ranges::less{}, arrival);
  for (const std::size_t unit : order) {
    if (units[unit].range.empty()) continue;
    units[unit].slow = rooms.place(std::span(&units[unit].range, 1), units[unit].moved_bytes);
  }
}

void place_by_traffic(std::vector<MovingUnit>& units, std::span<const SlowDemand> demands, SlowRooms rooms) {
  std::vector<std::size_t> order = all_units(units);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t unit) { return traffic(demands[unit]); });
  for (const std::size_t unit : order) units[unit].slow = rooms.place(demands[unit].ranges, units[unit].moved_bytes);
}

}  // namespace sluice
