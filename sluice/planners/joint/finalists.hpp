// Which of a few good plans is taken: the one that takes least where ops and links are not as they were measured.
//
// Each finalist is simulated under the same seeded noise (sim/noise.hpp), and the 90th percentile of its step decides:
// a plan that is fastest by the plain figures may be one that waits as soon as a copy comes late. What is wrong with
// all predictions alike, a slower disk or slower ops, is the same in each finalist's samples and cancels.
//
// Three rules beside that. A plan that is predicted slower than sentinel's without noise is no finalist, nor is one that
// is so by more than one per cent than the fastest: what a step usually takes is not given for what one in ten takes.
// And sentinel's is replaced only where the percentile is lower by half a per cent (kClearlySteadier). Chance needs no guard: with other
// seeds the ratio of two percentiles moves by 0.1 to 0.7 %, but who takes one of two equal plans by chance loses nothing.
// The guard is for what no noise of ours shows, as a plan that moves more has more of it to suffer from; without noise,
// it took two per cent (kWorthMoreTraffic).
//
// Cost: so many simulations, 0.04 s a plan; fewer samples where the step has many ops.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sluice/planners/joint/moves.hpp"
#include "sluice/sim/noise.hpp"

namespace sluice::planners {

inline constexpr double kHardlySlower = 1.01;      // than the fastest without noise
inline constexpr double kClearlySteadier = 0.995;  // of sentinel's 90th percentile

// The noise that finalists of this step are judged under.
sim::Noise judging_noise(const graph::Graph& graph);

// One of `others`, or `sentinel` where there is one; all of request.graph, and one at least. Says in the plan's
// planner_config what was compared.
TimedPlan steadiest(const PlanRequest& request, std::optional<TimedPlan> sentinel, std::vector<TimedPlan> others);

}  // namespace sluice::planners
