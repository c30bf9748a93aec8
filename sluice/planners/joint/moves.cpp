#include "sluice/planners/joint/moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "sluice/planners/joint/rounding.hpp"
#include "sluice/planners/planner_name.hpp"
#include "sluice/planners/schedule/pack.hpp"

namespace sluice {
namespace {

constexpr std::string_view kFirstPlanBy = "sentinel";
constexpr std::size_t kMostSearched = 3;  // drafts that the exact search packs

constexpr std::array kRoundings{
    Rounding{.name = "short gaps", .memory = 0},
    Rounding{.name = "short gaps of all", .memory = 0, .small_bytes = 16 * kKiB, .move_short_lived = true},
    Rounding{.name = "prices"},
    Rounding{.name = "prices of 90 %", .memory = 0.9},
    Rounding{.name = "prices of 80 %", .memory = 0.8},
    Rounding{.name = "prices, small ones too", .small_bytes = 64 * kKiB},
    Rounding{.name = "prices of all", .small_bytes = 16 * kKiB, .move_short_lived = true},
};

// Where ops can address slow memory.
constexpr std::array kInPlaceRoundings{
    Rounding{.name = "short gaps", .memory = 0},
    Rounding{.name = "short gaps of all", .memory = 0, .small_bytes = 16 * kKiB, .move_short_lived = true},
    Rounding{.name = "used in place", .in_place = true},
    Rounding{.name = "used in place, all", .small_bytes = 16 * kKiB, .move_short_lived = true, .in_place = true},
};

struct PackedDraft {
  Draft draft;
  PackedPlan packed;
  Seconds seconds = 0;
  std::string_view made_by;
};

class MovesSearch {
 public:
  MovesSearch(const PlanRequest& request, std::vector<SlowTier> slow, std::optional<StepPrices> prices)
      : request_(request), rounder_(request, std::move(slow), std::move(prices)) {}

  Seconds consider(Plan plan, std::string_view made_by) {
    const Seconds seconds = simulated_seconds(request_, plan);
    ++considered_;
    if (best_ && seconds >= seconds_) return seconds;
    best_ = std::move(plan);
    seconds_ = seconds;
    made_by_ = made_by;
    return seconds;
  }

  // All by the packing portfolio, and the few that come out best with the exact search.
  void try_roundings() {
    std::vector<PackedDraft> drafts;
    for (const Rounding& rounding : roundings()) try_rounding(rounding, drafts);
    if (request_.draft) return;
    std::ranges::stable_sort(drafts, {}, &PackedDraft::seconds);
    drafts.resize(std::min(drafts.size(), kMostSearched));
    for (PackedDraft& each : drafts) {
      if (request_.stopped()) return;
      const auto build = [&](const std::vector<Bytes>& capacities) {
        return rounder_.laid_out(each.draft, capacities);
      };
      consider(pack_with_more_capacity(request_, std::move(each.packed), build).plan, each.made_by);
    }
  }

  void try_until_first() {
    std::vector<PackedDraft> drafts;
    for (const Rounding& rounding : kRoundings) {
      if (best_ || rounding.memory > 0) continue;
      try_draft(rounding, *rounder_.draft_of(rounding), drafts);
    }
  }

  // By the list schedule alone.
  std::optional<Seconds> estimate() {
    std::optional<Seconds> least;
    for (const Rounding& rounding : kRoundings) {
      if (rounding.memory > 0) continue;
      const std::optional<Seconds> seconds = rounder_.estimate(*rounder_.draft_of(rounding));
      if (seconds) least = std::min(*seconds, least.value_or(*seconds));
    }
    return least;
  }

  std::optional<TimedPlan> take_best() {
    if (!best_) return std::nullopt;
    best_->planner_config.emplace_back("made_by", made_by_);
    best_->planner_config.emplace_back("plans_compared", fmt::format("{}", considered_));
    return TimedPlan{*std::move(best_), seconds_};
  }

 private:
  std::span<const Rounding> roundings() const {
    if (rounder_.any_addressable()) return kInPlaceRoundings;
    return kRoundings;
  }

  void try_rounding(const Rounding& rounding, std::vector<PackedDraft>& drafts) {
    if (best_ && request_.stopped()) return;
    if (const std::optional<Draft> draft = rounder_.draft_of(rounding)) try_draft(rounding, *draft, drafts);
  }

  // With as much capacity as the portfolio packs.
  void try_draft(const Rounding& rounding, const Draft& draft, std::vector<PackedDraft>& drafts) {
    const auto build = [&](const std::vector<Bytes>& capacities) { return rounder_.laid_out(draft, capacities); };
    Result<PackedPlan> packed = pack_with_less_capacity(request_, request_.budgets, build);
    if (!packed.ok()) return;
    const Seconds seconds = consider(packed->plan, rounding.name);
    drafts.push_back({draft, std::move(packed).value(), seconds, rounding.name});
  }

  const PlanRequest& request_;
  Rounder rounder_;
  std::optional<Plan> best_;
  Seconds seconds_ = 0;
  std::string made_by_;
  int considered_ = 0;
};

std::optional<TimedPlan> drafted(const PlanRequest& request, const std::optional<StepPrices>& prices,
                                 void (MovesSearch::*seek)()) {
  Result<std::vector<SlowTier>> slow = find_slow_tiers("joint", request.machine);
  if (!slow.ok()) return std::nullopt;
  PlanRequest draft = request;
  draft.draft = true;
  MovesSearch search(draft, std::move(slow).value(), prices);
  (search.*seek)();
  return search.take_best();
}

}  // namespace

Result<TimedPlan> plan_by_sentinel(const PlanRequest& request) {
  const ChosenPlanner sentinel = choose_planner(kFirstPlanBy).value();
  PlanRequest asked = request;
  asked.additions = sentinel.additions;
  SLUICE_ASSIGN(Plan plan, sentinel.entry->plan(asked));
  const Seconds seconds = simulated_seconds(request, plan);
  return TimedPlan{std::move(plan), seconds};
}

Result<TimedPlan> plan_moves(const PlanRequest& request, std::optional<StepPrices> prices) {
  SLUICE_ASSIGN(std::vector<SlowTier> slow, find_slow_tiers("joint", request.machine));
  MovesSearch search(request, std::move(slow), std::move(prices));
  Result<TimedPlan> first = plan_by_sentinel(request);
  if (first.ok()) search.consider(std::move(first->plan), kFirstPlanBy);
  search.try_roundings();
  if (std::optional<TimedPlan> best = search.take_best()) return *std::move(best);
  return first.error();
}

std::optional<TimedPlan> draft_moves(const PlanRequest& request, const std::optional<StepPrices>& prices) {
  return drafted(request, prices, &MovesSearch::try_roundings);
}

std::optional<TimedPlan> first_moves(const PlanRequest& request) {
  return drafted(request, std::nullopt, &MovesSearch::try_until_first);
}

std::optional<Seconds> estimate_moves(const PlanRequest& request) {
  Result<std::vector<SlowTier>> slow = find_slow_tiers("joint", request.machine);
  if (!slow.ok()) return std::nullopt;
  return MovesSearch(request, std::move(slow).value(), std::nullopt).estimate();
}

}  // namespace sluice
