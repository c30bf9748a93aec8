// What a sweep over fast budgets finds, as data: sweep.hpp makes it, report/sweep_*.hpp show it.
//
// Shares are of everything: the arena of the fast-only plan (peak memory). Slowdowns are step times over fast-only's:
// predicted over predicted, measured over measured in the same round.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/plan/operand_shares.hpp"
#include "sluice/sim/locality.hpp"

namespace sluice::experiment {

struct MeasuredPoint {
  double slowdown = 0;  // median over rounds
  double slowdown_min = 0;
  double slowdown_max = 0;
  Seconds step_seconds = 0;      // median
  Seconds baseline_seconds = 0;  // fast-only's, median of the same rounds
  double prediction_error = 0;   // predicted step over measured step, less 1
  bool same_bits = false;        // losses and parameters as fast-only's
};

// One planner or policy at one budget.
struct SweepPoint {
  std::string planner;
  Bytes budget = 0;
  Bytes planned_for = 0;                   // the budget of the plan: less, where that plan is faster
  std::string failure;                     // why there are no results below; empty where there are
  std::optional<Bytes> smallest_feasible;  // where the budget is too small

  Seconds bound_seconds = 0;  // no step in the budget takes less, by moving tensors in the plan's order; 0: unknown
  Seconds step_seconds = 0;   // predicted, as are the fields below
  double slowdown = 0;
  Seconds stall_seconds = 0;
  Bytes bytes_in = 0;  // per step, towards the fast tier
  Bytes bytes_out = 0;
  std::optional<Bytes> slow_bytes;                   // that the step takes of slow tiers; unknown for policies
  std::optional<plan::OperandShares> fast_operands;  // likewise
  sim::LocalityCount locality;
  std::optional<MeasuredPoint> measured;

  bool feasible() const { return failure.empty(); }
};

// The smallest budget on a grid whose predicted loss is at most what is allowed.
struct NoLossPoint {
  SweepPoint point;       // at that budget; or a failure, which says why there is none
  double allowed = 0;     // loss: 0.01 is one per cent
  Bytes grid = 0;         // the budgets tried are multiples of this
  int budgets_tried = 0;  // that were planned and simulated
};

// Of a GB, in any currency (sweep_prices.hpp).
struct MemoryPrices {
  double fast = 0;
  double slow = 0;
};

struct SweptModel {
  std::string model;
  std::int64_t batch = 0;
  Bytes whole = 0;               // of everything: peak memory
  Seconds baseline_seconds = 0;  // fast-only's predicted step
  std::vector<SweepPoint> points;
  std::vector<NoLossPoint> no_loss;
  std::optional<MemoryPrices> prices = {};  // where somebody wants to know what memory is worth its price
  double allowed_loss = 0;                  // with prices: of the cheapest point

  double share(const SweepPoint& point) const { return static_cast<double>(point.budget) / static_cast<double>(whole); }
};

// Of a planner's feasible points, the one where its curve bends most: the farthest below the line from its first to its
// last point, both axes scaled to what the curve covers (Satopaa et al. 2011, "kneedle"). nullptr with fewer than three
// points, or where none lies below that line by a tenth.
const SweepPoint* knee_of(const SweptModel& swept, std::string_view planner);

}  // namespace sluice::experiment
