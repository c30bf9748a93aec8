// Capacity first, offsets second. Planners only count bytes. Packing then loses some of them to fragmentation, so the
// planner tries again with less capacity until its schedule packs: by the portfolio, which takes milliseconds, so that
// many schedules can be compared. What it settles on is worth the exact search (memory/offsets/offset_packer.hpp), a few tenths
// of a second at most, which packs schedules of more capacity into the same budget.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/plan_builder.hpp"
#include "sluice/planners/planner.hpp"

namespace sluice::planners {

struct PackedPlan {
  plan::Plan plan;
  std::vector<Bytes> capacities;  // by TierId: what the planner was allowed to count on

  Bytes fast_capacity() const { return capacities[memory::kFastTier]; }
};

// Of one schedule among many: that it does not fit proves nothing of the others.
inline Error none_found(Error error) {
  if (error.code == ErrorCode::kInfeasible) error.code = ErrorCode::kNoneFound;
  return error;
}

// A small number of large tensors packs worst, so each attempt also gives up one per cent more than the one before.
// `build(capacities)` returns a builder, or nothing when the fast capacity is too small. Starts at `capacities` (at
// most the budgets, by TierId) and shrinks that of the tier that failed by what packing missed: of the fast tier, and
// of slow tiers with a farther one behind them, which can take the rest. kNoneFound when the capacity gets too small:
// what is built with it is one of many schedules.
template <typename Build>
Result<PackedPlan> pack_with_less_capacity(const PlanRequest& request, std::vector<Bytes> capacities,
                                           const Build& build) {
  constexpr int kAttempts = 20;
  const memory::TierId farthest = as_id<memory::TierId>(request.budgets.size()) - 1;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::optional<plan::PlanBuilder> builder = build(std::as_const(capacities));
    if (!builder) break;
    plan::PackingFailure failure;
    Result<plan::Plan> plan = builder->finish(request.budgets, &failure, memory::kPortfolioAlone);
    if (plan.ok()) return PackedPlan{std::move(plan).value(), std::move(capacities)};
    const bool last = failure.tier != memory::kFastTier && failure.tier == farthest;
    if (!wants_more_room(plan.error().code) || last) return none_found(plan.error());
    const auto tier = as_index(failure.tier);
    const double overshoot = static_cast<double>(failure.needed) / static_cast<double>(request.budgets[tier]);
    const double share = std::clamp(0.999 / overshoot, 0.8, 1 - 0.01 * attempt);
    capacities[tier] = align_down(share_of(share, capacities[tier]), memory::kBlockAlignment);
  }
  return Error{ErrorCode::kNoneFound,
               "no schedule packs into the fast budget of " + format_bytes(request.budgets[memory::kFastTier])};
}

// One attempt, with the exact search; nothing where it does not pack.
template <typename Build>
std::optional<PackedPlan> pack_by_search(const PlanRequest& request, std::vector<Bytes> capacities,
                                         const Build& build) {
  const std::optional<plan::PlanBuilder> builder = build(std::as_const(capacities));
  if (!builder) return std::nullopt;
  Result<plan::Plan> plan = builder->finish(request.budgets);
  if (!plan.ok()) return std::nullopt;
  return PackedPlan{std::move(plan).value(), std::move(capacities)};
}

// Halves the way between the fast capacity of `packed` and the budget a few times, to the highest that the exact search
// packs. `packed` itself where there is none, and for a draft.
template <typename Build>
PackedPlan pack_with_more_capacity(const PlanRequest& request, PackedPlan packed, const Build& build) {
  constexpr int kRounds = 4;
  if (request.draft) return packed;
  Bytes too_much = request.budgets[memory::kFastTier];
  for (int round = 0; round < kRounds && packed.fast_capacity() < too_much; ++round) {
    std::vector<Bytes> capacities = packed.capacities;
    const Bytes middle =
        align_up(packed.fast_capacity() + (too_much - packed.fast_capacity()) / 2, memory::kBlockAlignment);
    capacities[memory::kFastTier] = middle;
    std::optional<PackedPlan> tighter = pack_by_search(request, std::move(capacities), build);
    if (tighter) {
      packed = std::move(*tighter);
    } else {
      too_much = middle;
    }
  }
  return packed;
}

}  // namespace sluice::planners
