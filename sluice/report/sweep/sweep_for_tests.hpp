// A sweep with every kind of point, for tests of what shows sweeps.
#pragma once

#include <string>

#include "sluice/experiment/sweep_result.hpp"

namespace sluice::testing {

inline SweepPoint swept_point(Bytes budget, double slowdown) {
  return {.planner = "sentinel",
          .budget = budget,
          .planned_for = budget,
          .step_seconds = 0.1 * slowdown,
          .slowdown = slowdown,
          .stall_seconds = 0.1 * (slowdown - 1),
          .bytes_in = kMiB,
          .bytes_out = 2 * kMiB,
          .locality = {100, 90, 10, 8}};
}

inline SweepPoint too_small(Bytes budget) {
  return {.planner = "sentinel", .budget = budget, .failure = "cannot", .smallest_feasible = 15 * kMiB};
}

// 10 % is too small; 20, 30, 40 and 60 %.
inline SweptModel swept_net() {
  return {.model = "net",
          .batch = 4,
          .whole = 100 * kMiB,
          .baseline_seconds = 0.1,
          .points = {too_small(10 * kMiB), swept_point(20 * kMiB, 1.25), swept_point(30 * kMiB, 1.1),
                     swept_point(40 * kMiB, 1.0), swept_point(60 * kMiB, 1.02)}};
}

inline SweptModel measured_net() {
  SweptModel swept = swept_net();
  swept.model = "other";
  swept.points[4].measured = MeasuredPoint{1.05, 1.01, 1.2, 0.21, 0.2, -0.03, true};
  return swept;
}

inline SweptModel without_loss(const std::string& model, Bytes whole, Bytes budget) {
  SweptModel swept{.model = model, .batch = 8, .whole = whole, .baseline_seconds = 0.1};
  swept.no_loss.push_back({swept_point(budget, 1.009), 0.01, whole / 100, 9});
  return swept;
}

// At 30 % with the plan for 20 %; nothing is faster than 1.08x there.
inline SweptModel bounded_net() {
  SweptModel swept = swept_net();
  swept.points[2].planned_for = 20 * kMiB;
  swept.points[2].bound_seconds = 0.108;
  return swept;
}

}  // namespace sluice::testing
