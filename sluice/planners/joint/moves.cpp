#include "sluice/planners/joint/moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "sluice/planners/autotm/autotm.hpp"
#include "sluice/planners/checkmate/checkmate.hpp"
#include "sluice/planners/chosen_planner.hpp"
#include "sluice/planners/home/home.hpp"
#include "sluice/planners/joint/joint_additions.hpp"
#include "sluice/planners/joint/rounding.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/sentinel/sentinel.hpp"
#include "sluice/planners/zero_offload/zero_offload.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice::planners {
namespace {

constexpr std::string_view kFirstPlanBy = "sentinel";
constexpr std::string_view kProgrammedBy = "autotm-sync";
constexpr std::string_view kRematerializedBy = "checkmate:seconds=5";
constexpr std::string_view kSearchedBy = "home:particles=100:iterations=100";
constexpr std::string_view kEncodedBy = "sentinel:additions=choice+staying+in-place+ahead+prices+lending+encode";
constexpr std::size_t kMostSearched = 3;  // drafts that the exact search packs

constexpr std::array kRoundings{
    Rounding{.name = "short gaps", .memory = 0},
    Rounding{.name = "short gaps of all", .memory = 0, .small_bytes = 16 * kKiB, .move_short_lived = true},
    Rounding{.name = "prices"},
    Rounding{.name = "prices of 90 %", .memory = kBetween},
    Rounding{.name = "prices of 80 %", .memory = kTighter},
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

}  // namespace

class MovesSearch {
 public:
  MovesSearch(const PlanRequest& request, std::vector<SlowTier> slow, std::optional<plan::StepPrices> prices)
      : request_(request), rounder_(request, std::move(slow), std::move(prices)) {}

  Seconds consider(plan::Plan plan, std::string_view made_by) {
    const program::Program program = program::lower_plan(request_.graph, request_.machine, plan).value();
    const Seconds seconds = sim::simulate(program, rounder_.costs()).step_seconds;
    ++considered_;
    if (best_ && seconds >= seconds_) return seconds;
    best_ = std::move(plan);
    seconds_ = seconds;
    made_by_ = made_by;
    return seconds;
  }

  // By the packing portfolio, those for which there are prices.
  void draft_roundings() { try_roundings(Care::kDraft); }

  // All by the packing portfolio, and the few that come out best with the exact search.
  void plan_roundings() {
    try_roundings(Care::kPlan);
    std::ranges::stable_sort(drafts_, {}, &PackedDraft::seconds);
    drafts_.resize(std::min(drafts_.size(), kMostSearched));
    for (PackedDraft& each : drafts_) {
      if (request_.stopped()) return;
      const auto build = [&](const std::vector<Bytes>& capacities) {
        return rounder_.laid_out(each.draft, capacities);
      };
      consider(pack_with_more_capacity(request_, std::move(each.packed), build).plan, each.made_by);
    }
  }

  void try_until_first() {
    for (const Rounding& rounding : kRoundings) {
      if (best_ || rounding.memory > 0) continue;
      try_draft(rounding, *rounder_.draft_of(rounding, Care::kDraft));
    }
  }

  // By the list schedule alone.
  std::optional<Seconds> estimate() {
    std::optional<Seconds> least;
    for (const Rounding& rounding : kRoundings) {
      if (rounding.memory > 0) continue;
      const std::optional<Seconds> seconds = rounder_.estimate(*rounder_.draft_of(rounding, Care::kDraft));
      if (seconds) least = std::min(*seconds, least.value_or(*seconds));
    }
    return least;
  }

  std::optional<TimedPlan> best() const {
    if (!best_) return std::nullopt;
    TimedPlan best{*best_, seconds_};
    best.plan.planner_config.emplace_back("made_by", made_by_);
    best.plan.planner_config.emplace_back("plans_compared", fmt::format("{}", considered_));
    return best;
  }

 private:
  struct PackedDraft {
    Draft draft;
    PackedPlan packed;
    Seconds seconds = 0;
    std::string_view made_by;
  };

  std::span<const Rounding> roundings() const {
    if (rounder_.any_addressable()) return kInPlaceRoundings;
    return kRoundings;
  }

  void try_roundings(Care care) {
    for (const Rounding& rounding : roundings()) {
      if (best_ && request_.stopped()) return;
      if (tried_.contains(rounding.name)) continue;
      if (const std::optional<Draft> draft = rounder_.draft_of(rounding, care)) try_draft(rounding, *draft);
      if (rounding.in_place && care == Care::kDraft) tried_.erase(rounding.name);  // more is tried with care
    }
  }

  // With as much capacity as the portfolio packs.
  void try_draft(const Rounding& rounding, const Draft& draft) {
    tried_.insert(rounding.name);
    const auto build = [&](const std::vector<Bytes>& capacities) { return rounder_.laid_out(draft, capacities); };
    Result<PackedPlan> packed = pack_with_less_capacity(request_, request_.budgets, build);
    if (!packed.ok()) return;
    const Seconds seconds = consider(packed->plan, rounding.name);
    drafts_.push_back({draft, std::move(packed).value(), seconds, rounding.name});
  }

  const PlanRequest& request_;
  Rounder rounder_;
  std::set<std::string_view> tried_;  // roundings
  std::vector<PackedDraft> drafts_;
  std::optional<plan::Plan> best_;
  Seconds seconds_ = 0;
  std::string made_by_;
  int considered_ = 0;
};

namespace {

// Of those that plan_by() knows.
const PlannerEntry& rival_named(std::string_view text) {
  static const std::array rivals{sentinel_planner(), autotm_sync_planner(), checkmate_planner(), home_planner(),
                                 zero_offload_planner()};
  return *std::ranges::find(rivals, name_in(text), &PlannerEntry::name);
}

}  // namespace

MovesPlanner::MovesPlanner(const PlanRequest& request, std::optional<plan::StepPrices> prices) {
  Result<std::vector<SlowTier>> slow = find_slow_tiers("joint", request.machine);
  if (slow.ok()) search_ = std::make_unique<MovesSearch>(request, std::move(slow).value(), std::move(prices));
}

MovesPlanner::~MovesPlanner() = default;

std::optional<TimedPlan> MovesPlanner::first() {
  if (search_ == nullptr) return std::nullopt;
  search_->try_until_first();
  return search_->best();
}

std::optional<TimedPlan> MovesPlanner::draft() {
  if (search_ == nullptr) return std::nullopt;
  search_->draft_roundings();
  return search_->best();
}

std::optional<TimedPlan> MovesPlanner::plan() {
  if (search_ == nullptr) return std::nullopt;
  search_->plan_roundings();
  return search_->best();
}

std::optional<Seconds> MovesPlanner::estimate() { return search_ == nullptr ? std::nullopt : search_->estimate(); }

Result<TimedPlan> plan_by(std::string_view name, const PlanRequest& request) {
  const ChosenPlanner chosen = choose_settings(rival_named(name), name).value();
  PlanRequest asked = with_settings(request, chosen);
  asked.watch = nullptr;
  if (request.watch) {
    const PlanningWatch quiet{.stop = request.watch->stop, .out_of_time = request.watch->out_of_time};
    asked.watch = std::make_shared<const PlanningWatch>(quiet);
  }
  SLUICE_ASSIGN(plan::Plan plan, chosen.entry->plan(asked));
  plan.planner_config.emplace_back("made_by", chosen.entry->name);
  const Seconds seconds = simulated_seconds(request, plan);
  return TimedPlan{std::move(plan), seconds};
}

Result<TimedPlan> plan_by_sentinel(const PlanRequest& request) {
  return plan_by(request.additions.has(JointAddition::kEncode) ? kEncodedBy : kFirstPlanBy, request);
}

Result<TimedPlan> plan_by_program(const PlanRequest& request) { return plan_by(kProgrammedBy, request); }

Result<TimedPlan> plan_without_moves(const PlanRequest& request) { return plan_by(kRematerializedBy, request); }

Result<TimedPlan> plan_by_swarm(const PlanRequest& request) { return plan_by(kSearchedBy, request); }

}  // namespace sluice::planners
