// Our own planner: what is made again, which updates run later, what moves and when.
//
// The step is planned in orders that may be faster than the graph's own, each by prices of memory and links (moves.hpp);
// the simulator says which plan is kept, sentinel's plan of the graph's own order among them.
//
//   deferred   updates run later, where the links have room (planners/schedule/deferral.hpp)
//   again      what is worth making again is not kept or fetched (make_again.hpp)
#include <algorithm>
#include <set>

#include "sluice/planners/joint/make_again.hpp"
#include "sluice/planners/joint/moves.hpp"
#include "sluice/planners/planner_name.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/deferral.hpp"

namespace sluice {
namespace {

constexpr double kAboutAsFast = 1.005;  // of the estimated time of the graph's own order
constexpr std::size_t kMostOrders = 2;  // beside the graph's own

struct Order {
  std::vector<OpIndex> ops;
  Seconds seconds = 0;  // estimated
};

// Orders with updates deferred that the list schedule says are fastest, and hardly slower than the graph's own.
std::vector<Order> best_deferrals(const PlanRequest& request) {
  const Deferral deferral(request.graph, CostModel(request.graph, request.profile, request.machine));
  std::set<std::vector<OpIndex>> tried{deferral.schedule(UpdateSpread{})};
  const std::optional<Seconds> own = estimate_moves(request);
  std::vector<Order> found;
  for (const UpdateSpread& spread : update_spreads()) {
    std::vector<OpIndex> order = deferral.schedule(spread);
    if (!tried.insert(order).second) continue;
    const RescheduledRequest asked(request, order);
    const std::optional<Seconds> seconds = estimate_moves(asked.request());
    if (seconds && (!own || *seconds < kAboutAsFast * *own)) found.push_back({std::move(order), *seconds});
  }
  std::ranges::stable_sort(found, {}, &Order::seconds);
  found.resize(std::min(found.size(), kMostOrders));
  return found;
}

// Keeps the faster of two plans; the second one is of a step that `asked` has made.
void keep_faster(Result<TimedPlan>& best, Result<TimedPlan> other, const RescheduledRequest& asked) {
  if (!other.ok() || (best.ok() && other->seconds >= best->seconds)) return;
  best = TimedPlan{asked.for_given_graph(std::move(other->plan)), other->seconds};
}

// In the step's own order, and with something made again.
Result<TimedPlan> plan_order(const PlanRequest& request) {
  std::vector<PricedSchedule> schedules = make_again(request);
  if (schedules.empty()) return plan_moves(request);
  Result<TimedPlan> best = plan_moves(request, std::move(schedules.front().bound.prices));
  if (schedules.size() == 1) return best;
  const RescheduledRequest asked(request, schedules.back().schedule);
  keep_faster(best, plan_moves(asked.request(), std::move(schedules.back().bound.prices)), asked);
  return best;
}

Result<TimedPlan> plan_all_orders(const PlanRequest& request) {
  Result<TimedPlan> best = plan_order(request);
  for (const Order& order : best_deferrals(request)) {
    const RescheduledRequest asked(request, order.ops);
    keep_faster(best, plan_order(asked.request()), asked);
  }
  return best;
}

Result<Plan> plan_joint(const PlanRequest& request) {
  Result<TimedPlan> best = request.draft ? plan_moves(request) : plan_all_orders(request);
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
