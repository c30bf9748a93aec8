// How long a step waits for what is swapped, if memory is no matter: one lane out and one lane in, each of which carries
// one tensor at a time, the next one as soon as it is free. What comes back comes in the backward pass.
//
// So a copy that would be hidden if it were the only one is not, where others have the lane. O(feature maps) a question.
#pragma once

#include <vector>

#include "sluice/planners/feature_maps/feature_maps.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"

namespace sluice::planners {

class SwapLanes {
 public:
  // `begins`: by op, and the step's end behind them.
  SwapLanes(const PlanRequest& request, const std::vector<FeatureMap>& maps, const SlowTier& slow,
            const std::vector<Seconds>& begins);

  void add(std::size_t map) { swapped_[map] = 1; }
  Seconds waits() const { return waits(none()); }
  Seconds waits_with(std::size_t map) const { return waits(map); }  // and with this one, too

 private:
  struct Swap {
    Seconds leaves = 0, needed = 0;  // from when on, and until when, if nothing waits
    Seconds out = 0, in = 0;
  };

  std::size_t none() const { return swaps_.size(); }
  Seconds waits(std::size_t further) const;

  std::vector<Swap> swaps_;                          // by map
  std::vector<std::size_t> by_leaving_, by_needed_;  // maps
  std::vector<char> swapped_;                        // by map
  Seconds turn_ = 0;                                 // when the backward pass begins
  mutable std::vector<Seconds> gone_;                // by map
};

}  // namespace sluice::planners
