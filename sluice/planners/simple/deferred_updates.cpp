// deferred-updates: weight gradients and updates run later, where the link to the slow tier has room.
//
// A few ways to spread them over the rest of the step (planners/schedule/deferral.hpp) are planned by `sentinel` and
// simulated; the best is kept, and that may be the graph's own order. So every question of where tensors live is
// sentinel's, as are the trials of late prefetches while training runs.
#include <memory>
#include <set>

#include "sluice/planners/chosen_planner.hpp"
#include "sluice/planners/plan_search.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/deferral.hpp"
#include "sluice/planners/sentinel/sentinel.hpp"

namespace sluice::planners {
namespace {

constexpr double kFasterOrder = 0.998;  // of the simulated time of another order than the graph's own

// Orders that sentinel planned and the simulator timed, the best of them kept.
class OrderSearch {
 public:
  explicit OrderSearch(const PlanRequest& request)
      : given_(request),
        deferral_(request.graph, profile::CostModel(request.graph, request.profile, request.machine)) {}

  Status run() {
    consider(std::nullopt);
    const std::vector<UpdateSpread> spreads = update_spreads();
    for (std::size_t i = 0; i < spreads.size(); ++i) {
      if (best_ && given_.stopped()) return {};
      consider(spreads[i]);
      given_.report(static_cast<double>(i + 1) / static_cast<double>(spreads.size()), seconds_of_best());
    }
    for (const double more : {-0.1, 0.1, -0.05, 0.05}) {
      if (!spread_) break;
      consider(UpdateSpread{spread_->most_held, spread_->until + more, spread_->newest_first});
    }
    return best_ ? Status() : Status(*failure_);
  }

  const std::shared_ptr<const RescheduledRequest>& best() const { return best_; }
  std::optional<Seconds> seconds_of_best() const { return best_ ? std::optional(seconds_) : std::nullopt; }
  std::string description() const {
    return spread_ ? describe(*spread_) : "nothing: no other order is worth its traffic";
  }

 private:
  // nullopt: the graph's own order.
  void consider(const std::optional<UpdateSpread>& spread) {
    std::vector<graph::OpIndex> order = deferral_.schedule(spread.value_or(UpdateSpread{}));
    if (!tried_.insert(order).second) return;
    auto asked = std::make_shared<const RescheduledRequest>(given_, std::move(order), default_additions(placed_by_));
    PlanRequest draft = asked->request();
    draft.draft = true;
    const Result<plan::Plan> plan = placed_by_.plan(draft);
    if (!plan.ok()) {
      if (!failure_) failure_ = plan.error();
      return;
    }
    const Seconds seconds = simulated_seconds(asked->request(), *plan);
    if (best_ && seconds >= (spread_ ? kFasterOrder : kWorthMoreTraffic) * seconds_) return;
    best_ = std::move(asked);
    spread_ = spread;
    seconds_ = seconds;
  }

  const PlanRequest& given_;
  PlannerEntry placed_by_ = sentinel_planner();
  Deferral deferral_;
  std::set<std::vector<graph::OpIndex>> tried_;
  std::shared_ptr<const RescheduledRequest> best_;
  std::optional<UpdateSpread> spread_;  // of the best
  Seconds seconds_ = 0;                 // of the best
  std::optional<Error> failure_;        // the first
};

Result<std::unique_ptr<PlanSearch>> search_deferred(const PlanRequest& request) {
  OrderSearch orders(request);
  SLUICE_RETURN_IF_ERROR(orders.run());
  SLUICE_ASSIGN(std::unique_ptr<PlanSearch> search, sentinel_planner().search(orders.best()->request()));
  const std::pair<std::string, std::string> deferred("deferred", orders.description());
  return std::unique_ptr<PlanSearch>(
      std::make_unique<RescheduledSearch>(orders.best(), std::move(search), std::vector{deferred}));
}

Result<plan::Plan> plan_deferred(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::unique_ptr<PlanSearch> search, search_deferred(request));
  return settle_in_simulation(*search, request);
}

}  // namespace

PlannerEntry deferred_updates_planner() {
  return {.name = "deferred-updates",
          .summary = "sentinel, with weight gradients and updates run later, where the link has room",
          .plan = plan_deferred,
          .traits = {.decides = "search",
                     .profiles = true,
                     .counts_accesses = true,
                     .moves = true,
                     .reorders = true,
                     .all_tensors = true,
                     .groups_small = true,
                     .several_tiers = true},
          .search = search_deferred,
          .keeps_short_lived_fast = true};
}

}  // namespace sluice::planners
