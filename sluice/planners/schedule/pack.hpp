// Capacity first, offsets second. Planners only count bytes. Packing then loses some of them to fragmentation, so the
// planner tries again with less capacity until its schedule packs: by the portfolio, which takes milliseconds, so that
// many schedules can be compared. What it settles on is worth the exact search (memory/offset_packer.hpp), a few tenths
// of a second at most, which packs schedules of more capacity into the same budget.
#pragma once

#include <algorithm>
#include <optional>

#include "sluice/plan/plan_builder.hpp"
#include "sluice/planners/planner.hpp"

namespace sluice {

struct PackedPlan {
  Plan plan;
  Bytes capacity = 0;  // fast bytes the planner was allowed to count on
};

// A small number of large tensors packs worst, so each attempt also gives up one per cent more than the one before.
// `build(capacity)` returns a builder, or nothing when that capacity is too small. Starts at `capacity` (at most the
// fast budget) and shrinks it by what packing missed. kInfeasible when the capacity gets too small.
template <typename Build>
Result<PackedPlan> pack_with_less_capacity(const PlanRequest& request, Bytes capacity, const Build& build) {
  constexpr int kAttempts = 20;
  const Bytes budget = request.budgets[kFastTier];
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::optional<PlanBuilder> builder = build(capacity);
    if (!builder) break;
    PackingFailure failure;
    Result<Plan> plan = builder->finish(request.budgets, &failure, kPortfolioAlone);
    if (plan.ok()) return PackedPlan{std::move(plan).value(), capacity};
    if (plan.error().code != ErrorCode::kInfeasible || failure.tier != kFastTier) return plan.error();
    const double overshoot = static_cast<double>(failure.needed) / static_cast<double>(budget);
    const double share = std::clamp(0.999 / overshoot, 0.8, 1 - 0.01 * attempt);
    capacity = align_down(static_cast<Bytes>(static_cast<double>(capacity) * share), kTensorAlignment);
  }
  return Error{ErrorCode::kInfeasible, "no schedule packs into the fast budget of " + format_bytes(budget)};
}

// One attempt, with the exact search; nothing where it does not pack.
template <typename Build>
std::optional<PackedPlan> pack_by_search(const PlanRequest& request, Bytes capacity, const Build& build) {
  const std::optional<PlanBuilder> builder = build(capacity);
  if (!builder) return std::nullopt;
  Result<Plan> plan = builder->finish(request.budgets);
  if (!plan.ok()) return std::nullopt;
  return PackedPlan{std::move(plan).value(), capacity};
}

// Halves the way between the capacity of `packed` and the budget a few times, to the highest that the exact search
// packs. `packed` itself where there is none, and for a draft.
template <typename Build>
PackedPlan pack_with_more_capacity(const PlanRequest& request, PackedPlan packed, const Build& build) {
  constexpr int kRounds = 4;
  if (request.draft) return packed;
  Bytes too_much = request.budgets[kFastTier];
  for (int round = 0; round < kRounds && packed.capacity < too_much; ++round) {
    const Bytes middle = align_up(packed.capacity + (too_much - packed.capacity) / 2, kTensorAlignment);
    std::optional<PackedPlan> tighter = pack_by_search(request, middle, build);
    if (tighter) {
      packed = std::move(*tighter);
    } else {
      too_much = middle;
    }
  }
  return packed;
}

// The bytes below which no plan can run every op with its operands in the fast tier: the largest op's operands.
Bytes largest_working_set(const Graph& graph, OpIndex* op = nullptr);

}  // namespace sluice
