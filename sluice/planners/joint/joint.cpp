// Our own planner: what is made again, which updates run later, what moves and when.
//
// Steps in several orders are drafted, each by prices of memory and links; the three whose drafts are fastest are
// planned with care (moves.hpp). The simulator says which is best, and whether it is so much better than sentinel's
// plan of the graph's own order that a prediction can tell (kWorthMoreTraffic).
//
//   deferred   updates run later, where the links have room (planners/schedule/deferral.hpp)
//   again      what is worth making again is not kept or fetched, and what is not is kept (make_again.hpp)
#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <span>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/joint/make_again.hpp"
#include "sluice/planners/joint/moves.hpp"
#include "sluice/planners/joint/savings.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/deferral.hpp"

namespace sluice {
namespace {

constexpr double kAboutAsFast = 1.01;      // of the estimated time of the graph's own order: what is worth a draft
constexpr std::size_t kMostOrders = 4;     // beside the graph's own
constexpr std::size_t kMostPlanned = 3;    // drafts that are planned with care
constexpr double kNothing = 1e-6;          // lost by a plan beside which no other is sought, of the compute time
constexpr double kPaysToMakeAgain = 0.99;  // of the bound of the graph's own order, to try it in other orders

// A step to plan: its schedule, and what is known of it.
struct Step {
  std::vector<OpIndex> schedule;  // of the given graph; empty: its own order
  std::optional<StepPrices> prices = std::nullopt;
  Seconds seconds = std::numeric_limits<Seconds>::infinity();  // estimated, then drafted
};

// Orders with updates deferred that the list schedule says are fastest, and hardly slower than the graph's own.
std::vector<Step> deferred_steps(const PlanRequest& request) {
  const Deferral deferral(request.graph, CostModel(request.graph, request.profile, request.machine));
  std::set<std::vector<OpIndex>> tried{deferral.schedule(UpdateSpread{})};
  const std::optional<Seconds> own = estimate_moves(request);
  std::vector<Step> found;
  for (const UpdateSpread& spread : update_spreads()) {
    std::vector<OpIndex> order = deferral.schedule(spread);
    if (!tried.insert(order).second) continue;
    const RescheduledRequest asked(request, order);
    const std::optional<Seconds> seconds = estimate_moves(asked.request());
    if (seconds && (!own || *seconds < kAboutAsFast * *own)) found.push_back({std::move(order), {}, *seconds});
  }
  std::ranges::stable_sort(found, {}, &Step::seconds);
  found.resize(std::min(found.size(), kMostOrders));
  return found;
}

// `again` names ops of a step in the order of `order`, each of the graph's once; empty: in the graph's own.
std::vector<OpIndex> composed(const std::vector<OpIndex>& order, std::vector<OpIndex> again) {
  if (order.empty()) return again;
  for (OpIndex& op : again) op = order[as_index(op)];
  return again;
}

class JointSearch {
 public:
  explicit JointSearch(const PlanRequest& request) : request_(request) {}

  Result<TimedPlan> run() {
    Result<TimedPlan> sentinel = plan_by_sentinel(request_);
    if (sentinel.ok()) sentinel->plan.planner_config.emplace_back("made_by", "sentinel");
    const CostModel costs(request_.graph, request_.profile, request_.machine);
    const Seconds least = compute_without_repetitions(request_.graph, costs);
    if (sentinel.ok() && sentinel->seconds <= (1 + kNothing) * least) return sentinel;
    const bool again_pays = add_order({});
    for (Step& each : deferred_steps(request_)) {
      if (again_pays) {
        add_order(std::move(each.schedule));
      } else {
        steps_.push_back(std::move(each));
      }
    }
    keep_fastest_drafts();
    Result<TimedPlan> best = Error{ErrorCode::kInfeasible, "no plan yet"};
    for (Step& each : steps_) keep_faster(best, each, plan_moves(asked(each)->request(), each.prices));
    const bool clear = best.ok() && (!sentinel.ok() || best->seconds <= kWorthMoreTraffic * sentinel->seconds);
    return clear ? best : sentinel;
  }

 private:
  // In that order, and with something made again. Returns whether that lowers the bound enough to try it elsewhere.
  bool add_order(std::vector<OpIndex> order) {
    std::vector<PricedSchedule> schedules = make_again(asked({.schedule = order})->request());
    if (schedules.empty()) {
      steps_.push_back({std::move(order)});
      return false;
    }
    const bool pays = schedules.back().bound.seconds < kPaysToMakeAgain * schedules.front().bound.seconds;
    steps_.push_back({order, std::move(schedules.front().bound.prices)});
    for (PricedSchedule& again : std::span(schedules).subspan(1)) {
      steps_.push_back({composed(order, std::move(again.schedule)), std::move(again.bound.prices)});
    }
    return pays;
  }

  void keep_fastest_drafts() {
    for (Step& each : steps_) {
      each.seconds =
          draft_moves(asked(each)->request(), each.prices).value_or(std::numeric_limits<Seconds>::infinity());
    }
    std::ranges::stable_sort(steps_, {}, &Step::seconds);
    steps_.resize(std::min(steps_.size(), kMostPlanned));
  }

  std::unique_ptr<RescheduledRequest> asked(const Step& step) const {
    std::vector<OpIndex> schedule = step.schedule;
    if (schedule.empty()) {
      schedule.resize(request_.graph.ops().size());
      std::iota(schedule.begin(), schedule.end(), 0);
    }
    return std::make_unique<RescheduledRequest>(request_, std::move(schedule));
  }

  void keep_faster(Result<TimedPlan>& best, const Step& step, Result<TimedPlan> other) const {
    if (best.ok() && (!other.ok() || other->seconds >= best->seconds)) return;
    best = std::move(other);
    if (best.ok()) best->plan = asked(step)->for_given_graph(std::move(best->plan));
  }

  const PlanRequest& request_;
  std::vector<Step> steps_;
};

Result<Plan> plan_joint(const PlanRequest& request) {
  Result<TimedPlan> best = request.draft ? plan_moves(request) : JointSearch(request).run();
  if (!best.ok()) return best.error();
  return std::move(best->plan);
}

}  // namespace

PlannerEntry joint_planner() {
  return {.name = "joint",
          .summary = "order, what is made again and what moves, by prices; never predicted slower than sentinel",
          .plan = plan_joint};
}

}  // namespace sluice
