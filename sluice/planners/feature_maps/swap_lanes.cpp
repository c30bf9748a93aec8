#include "sluice/planners/feature_maps/swap_lanes.hpp"

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

SwapLanes::SwapLanes(const PlanRequest& request, const std::vector<FeatureMap>& maps, const SlowTier& slow,
                     const std::vector<Seconds>& begins)
    : by_leaving_(maps.size()), by_needed_(maps.size()), swapped_(maps.size(), 0), gone_(maps.size(), 0) {
  const profile::CostModel costs(request.graph, request.profile, request.machine);
  for (const FeatureMap& map : maps) {
    const Bytes bytes = plan::stored_bytes(request.graph.tensor(map.tensor));
    swaps_.push_back({.leaves = begins[as_index(map.last_forward_use) + 1],
                      .needed = begins[as_index(map.first_backward_use)],
                      .out = costs.transfer_seconds(slow.outward, bytes),
                      .in = costs.transfer_seconds(slow.inward, bytes)});
    turn_ = std::max(turn_, swaps_.back().leaves);
  }
  for (std::vector<std::size_t>* order : {&by_leaving_, &by_needed_}) std::iota(order->begin(), order->end(), 0);
  std::ranges::stable_sort(by_leaving_, {}, [&](std::size_t map) { return swaps_[map].leaves; });
  std::ranges::stable_sort(by_needed_, {}, [&](std::size_t map) { return swaps_[map].needed; });
}

Seconds SwapLanes::waits(std::size_t further) const {
  const auto moves = [&](std::size_t map) { return swapped_[map] != 0 || map == further; };
  Seconds free = 0;
  for (const std::size_t map : by_leaving_) {
    if (moves(map)) gone_[map] = free = std::max(free, swaps_[map].leaves) + swaps_[map].out;
  }
  free = turn_;
  Seconds waited = 0;
  for (const std::size_t map : by_needed_) {
    if (!moves(map)) continue;
    free = std::max(free, gone_[map]) + swaps_[map].in;
    waited = std::max(waited, free - swaps_[map].needed);
  }
  return waited;
}

}  // namespace sluice::planners
