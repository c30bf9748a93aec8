// Our own planner: what is made again, which updates run later, what moves and when.
//
// Steps in several orders, and what home makes again, are drafted, each by prices of memory and links; the three whose drafts are fastest are
// planned with care (moves.hpp), by sentinel, and by AutoTM's program where ops can use slow memory. The fastest plan of each, and sentinel's of the graph's own order, are
// judged under noise (finalists.hpp).
//
// A first plan, of short gaps, is there after a fraction of a second; who stops the search gets the fastest plan of all
// that were made until then (PlanningWatch).
//
//   deferred   updates run later, where the links have room (planners/schedule/deferral.hpp)
//   again      what is worth making again is not kept or fetched, and what is not is kept (rematerialize.hpp)
//
// Where they are named (joint_additions.hpp), the same is done once more with other kernels, and with tensors that move
// encoded; that is taken where it is clearly faster. Named, other processors may run updates (on_processors.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <span>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/interruption.hpp"
#include "sluice/planners/joint/finalists.hpp"
#include "sluice/planners/joint/joint_additions.hpp"
#include "sluice/planners/joint/kernels_by_price.hpp"
#include "sluice/planners/joint/moves.hpp"
#include "sluice/planners/joint/on_processors.hpp"
#include "sluice/planners/joint/rematerialize.hpp"
#include "sluice/planners/joint/savings.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/deferral.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::planners {
namespace {

constexpr double kAboutAsFast = 1.01;    // of the estimated time of the graph's own order: what is worth a draft
constexpr std::size_t kMostOrders = 4;   // beside the graph's own
constexpr std::size_t kMostPlanned = 3;  // drafts that are planned with care
constexpr double kNothingLost = 1e-6;    // lost by a plan beside which no other is sought, of the compute time
constexpr double kKeepsUp = 1.01;        // of the time of the moves by prices: what sentinel may take to be asked again
constexpr double kWorthMoves = 1.1;      // of the fastest plan so far: what home's may take for its order to be planned
constexpr double kPaysToRematerialize = 0.99;  // of the bound of the graph's own order, to try it in other orders

// A step to plan: its schedule, and what is known of it.
struct Step {
  std::vector<graph::OpIndex> schedule;  // of the given graph; empty: its own order
  std::optional<plan::StepPrices> prices = std::nullopt;
  Seconds seconds = std::numeric_limits<Seconds>::infinity();  // estimated, then drafted
  std::unique_ptr<RescheduledRequest> asked = nullptr;         // once it is drafted
  std::unique_ptr<MovesPlanner> moves = nullptr;               // likewise, of `asked`
};

// How much of the search is usually done after each part, where it is not cut short.
constexpr double kFirstDone = 0.03;
constexpr double kSentinelDone = 0.1;
constexpr double kOrdersDone = 0.3;
constexpr double kDraftsDone = 0.4;

// Orders with updates deferred that the list schedule says are fastest, and hardly slower than the graph's own.
std::vector<Step> deferred_steps(const PlanRequest& request) {
  const Deferral deferral(request.graph, profile::CostModel(request.graph, request.profile, request.machine));
  std::set<std::vector<graph::OpIndex>> tried{deferral.schedule(UpdateSpread{})};
  const std::optional<Seconds> own = MovesPlanner(request, {}).estimate();
  std::vector<Step> found;
  for (const UpdateSpread& spread : update_spreads()) {
    std::vector<graph::OpIndex> order = deferral.schedule(spread);
    if (request.stopped()) break;
    if (!tried.insert(order).second) continue;
    const RescheduledRequest asked(request, order, request.additions);
    const std::optional<Seconds> seconds = MovesPlanner(asked.request(), {}).estimate();
    if (seconds && (!own || *seconds < kAboutAsFast * *own))
      found.push_back({.schedule = std::move(order), .seconds = *seconds});
  }
  std::ranges::stable_sort(found, {}, &Step::seconds);
  found.resize(std::min(found.size(), kMostOrders));
  return found;
}

double between(double begin, double end, std::size_t part, std::size_t parts) {
  return begin + (end - begin) * static_cast<double>(part) / static_cast<double>(parts);
}

// `again` names ops of a step in the order of `order`, each of the graph's once; empty: in the graph's own.
std::vector<graph::OpIndex> composed(const std::vector<graph::OpIndex>& order, std::vector<graph::OpIndex> again) {
  if (order.empty()) return again;
  for (graph::OpIndex& op : again) op = order[as_index(op)];
  return again;
}

std::optional<TimedPlan> faster(std::optional<TimedPlan> a, std::optional<TimedPlan> b) {
  return b && (!a || b->seconds < a->seconds) ? std::move(b) : std::move(a);
}

std::optional<TimedPlan> if_any(Result<TimedPlan> plan) {
  return plan.ok() ? std::optional(std::move(plan).value()) : std::nullopt;
}

// Where nothing fits that moves tensors. Slow memory that holds everything is not why.
Result<TimedPlan> last_resort(const PlanRequest& request, Result<TimedPlan> infeasible) {
  const Bytes slow = std::accumulate(request.budgets.begin() + memory::kFastTier + 1, request.budgets.end(), Bytes{0});
  if (slow < fast_only_bytes(request.graph)) {
    const bool moves_nothing = request.machine.tiers.size() < 2;  // then its error says what is missing
    if (Result<TimedPlan> plan = plan_without_moves(request); plan.ok() || moves_nothing) return plan;
  }
  if (request.stopped()) return ended_before_a_plan("joint", request);
  return infeasible;
}

class JointSearch {
 public:
  explicit JointSearch(const PlanRequest& request)
      : request_(request),
        in_place_(std::any_of(request.machine.tiers.begin() + 1, request.machine.tiers.end(),
                              std::mem_fn(&memory::Tier::addressable))) {}

  Result<TimedPlan> run() {
    if (std::optional<TimedPlan> first = MovesPlanner(request_, {}).first()) remember(std::move(*first));
    report(kFirstDone);
    if (so_far_ && request_.stopped()) return stopped_early();
    Result<TimedPlan> sentinel = plan_by_sentinel(request_);
    if (sentinel.ok()) {
      remember(*sentinel);
      const profile::CostModel costs(request_.graph, request_.profile, request_.machine);
      if (sentinel->seconds <= (1 + kNothingLost) * compute_without_repetitions(request_.graph, costs)) return sentinel;
    }
    report(kSentinelDone);
    std::optional<TimedPlan> swarm = in_place_ ? std::nullopt : if_any(plan_by_swarm(request_));
    if (swarm) remember(*swarm);
    add_steps();
    if (swarm && swarm->seconds < kWorthMoves * so_far_->seconds) add_order(swarm->plan.schedule);
    keep_fastest_drafts();
    std::vector<TimedPlan> others = plan_steps();
    if (swarm) others.push_back(*std::move(swarm));
    if (so_far_ && request_.stopped()) return stopped_early();
    if (!sentinel.ok() && others.empty()) return last_resort(request_, std::move(sentinel));
    return steadiest(request_, sentinel.ok() ? std::optional(*std::move(sentinel)) : std::nullopt, std::move(others));
  }

 private:
  void add_steps() {
    const bool again_pays = add_order({});
    for (Step& each : deferred_steps(request_)) {
      if (again_pays && !request_.stopped()) {
        add_order(std::move(each.schedule));
      } else {
        steps_.push_back(std::move(each));
      }
    }
    report(kOrdersDone);
  }

  // In that order, and with something made again. Returns whether that lowers the bound enough to try it elsewhere.
  bool add_order(std::vector<graph::OpIndex> order) {
    std::vector<PricedSchedule> schedules = rematerialize(asked(order)->request());
    if (schedules.empty()) {
      steps_.push_back({.schedule = std::move(order)});
      return false;
    }
    const bool pays = schedules.back().bound.seconds < kPaysToRematerialize * schedules.front().bound.seconds;
    steps_.push_back({.schedule = order, .prices = std::move(schedules.front().bound.prices)});
    for (PricedSchedule& again : std::span(schedules).subspan(1)) {
      steps_.push_back(
          {.schedule = composed(order, std::move(again.schedule)), .prices = std::move(again.bound.prices)});
    }
    return pays;
  }

  void keep_fastest_drafts() {
    for (std::size_t i = 0; i < steps_.size() && !request_.stopped(); ++i) {
      Step& step = steps_[i];
      step.asked = asked(step.schedule);
      step.moves = std::make_unique<MovesPlanner>(step.asked->request(), step.prices);
      if (std::optional<TimedPlan> draft = step.moves->draft()) {
        step.seconds = draft->seconds;
        remember(given(*step.asked, std::move(*draft)));
      }
      report(between(kOrdersDone, kDraftsDone, i + 1, steps_.size()));
    }
    std::ranges::stable_sort(steps_, {}, &Step::seconds);
    steps_.resize(std::min(steps_.size(), kMostPlanned));
  }

  // With care: the fastest plan of each.
  std::vector<TimedPlan> plan_steps() {
    std::vector<TimedPlan> plans;
    for (std::size_t i = 0; i < steps_.size() && !request_.stopped(); ++i) {
      const Step& step = steps_[i];
      if (step.moves == nullptr) continue;  // stopped before it was drafted
      if (std::optional<TimedPlan> plan = plan_step(step)) {
        plans.push_back(given(*step.asked, *std::move(plan)));
        remember(plans.back());
      }
      report(between(kDraftsDone, 1, i + 1, steps_.size()));
    }
    return plans;
  }

  std::optional<TimedPlan> plan_step(const Step& step) {
    std::optional<TimedPlan> plan = plan_moves(step);
    if (!in_place_ || request_.stopped()) return plan;
    return faster(std::move(plan), if_any(plan_by_program(step.asked->request())));
  }

  // What sentinel makes of the graph's own order is there already; and where it came out clearly slower in one order, it
  // does in others.
  std::optional<TimedPlan> plan_moves(const Step& step) {
    if (step.schedule.empty() || !sentinel_keeps_up_) return step.moves->plan();
    std::optional<TimedPlan> sentinel = if_any(plan_by_sentinel(step.asked->request()));
    std::optional<TimedPlan> moves = step.moves->plan();
    if (moves) sentinel_keeps_up_ = sentinel && sentinel->seconds <= kKeepsUp * moves->seconds;
    return faster(std::move(sentinel), std::move(moves));
  }

  std::unique_ptr<RescheduledRequest> asked(std::vector<graph::OpIndex> schedule) const {
    if (schedule.empty()) {
      schedule.resize(request_.graph.ops().size());
      std::iota(schedule.begin(), schedule.end(), 0);
    }
    return std::make_unique<RescheduledRequest>(request_, std::move(schedule), request_.additions);
  }

  static TimedPlan given(const RescheduledRequest& asked, TimedPlan plan) {
    plan.plan = asked.for_given_graph(std::move(plan.plan));
    return plan;
  }

  void remember(TimedPlan plan) {
    if (!so_far_ || plan.seconds < so_far_->seconds) so_far_ = std::move(plan);
  }

  void report(double done) const { request_.report(done, so_far_ ? std::optional(so_far_->seconds) : std::nullopt); }

  Result<TimedPlan> stopped_early() {
    note_interruption(so_far_->plan, "the best plan until then");
    return *std::move(so_far_);
  }

  const PlanRequest& request_;
  bool in_place_;  // ops can use slow memory
  std::vector<Step> steps_;
  std::optional<TimedPlan> so_far_;  // the fastest plan made
  bool sentinel_keeps_up_ = true;
};

// Only to be compared, or to see whether there is one.
Result<TimedPlan> draft_joint(const PlanRequest& request) {
  Result<TimedPlan> sentinel = plan_by_sentinel(request);
  std::optional<TimedPlan> moves = MovesPlanner(request, {}).draft();
  if (!sentinel.ok() && !moves) return last_resort(request, std::move(sentinel));
  return *faster(if_any(std::move(sentinel)), std::move(moves));
}

Result<TimedPlan> plan_as_asked(const PlanRequest& request) {
  return request.draft ? draft_joint(request) : JointSearch(request).run();
}

// `other` costs something beside time, and is taken where it is clearly faster.
Result<TimedPlan> clearly_faster(Result<TimedPlan> plainer, Result<TimedPlan> other) {
  const bool worth = other.ok() && (!plainer.ok() || other->seconds <= kWorthMoreTraffic * plainer->seconds);
  return worth ? std::move(other) : std::move(plainer);
}

// Staging for encoders takes room, so that a small budget may do better without.
Result<TimedPlan> plan_encoded_or_not(const PlanRequest& request) {
  PlanRequest plain = request;
  plain.additions.remove(as_index(JointAddition::kEncode));
  Result<TimedPlan> as_it_is = plan_as_asked(plain);
  const bool encode = request.additions.has(JointAddition::kEncode) && request.profile.encodings != nullptr;
  return encode && !request.stopped() ? clearly_faster(std::move(as_it_is), plan_as_asked(request)) : as_it_is;
}

Result<TimedPlan> plan_with_kernels(const PlanRequest& request, const std::vector<graph::OpChoice>& choices) {
  PlanRequest asked = request;
  asked.choices = choices;
  const RescheduledRequest chosen(asked);
  SLUICE_ASSIGN(TimedPlan plan, plan_encoded_or_not(chosen.request()));
  plan.plan = chosen.for_given_graph(std::move(plan.plan));
  const auto others =
      std::ranges::count_if(choices, [](const graph::OpChoice& each) { return each.implementation != 0; });
  plan.plan.planner_config.emplace_back("kernels",
                                        fmt::format("{} ops by others than the first: by prices of room", others));
  return plan;
}

Result<TimedPlan> plan_any_kernels(const PlanRequest& request) {
  Result<TimedPlan> own = plan_encoded_or_not(request);
  if (!request.additions.has(JointAddition::kKernels)) return own;
  if (own.ok()) own->plan.planner_config.emplace_back("kernels", "those that ops have anyway");
  if (request.stopped()) return own;
  const std::vector<graph::OpChoice> choices = kernels_by_price(request);
  return choices.empty() ? own : clearly_faster(std::move(own), plan_with_kernels(request, choices));
}

// Updates wherever the machine can run them, if asked, and if nobody has chosen processors already.
Result<TimedPlan> plan_any_processors(const PlanRequest& request) {
  Result<TimedPlan> own = plan_any_kernels(request);
  const bool chosen =
      std::ranges::any_of(request.graph.ops(), [](const graph::Op& op) { return op.processor != kMainProcessor; });
  if (!request.additions.has(JointAddition::kProcessors) || chosen || request.stopped()) return own;
  PlanRequest asked = request;
  asked.additions.remove(as_index(JointAddition::kProcessors));
  return fastest_on_processors(asked, std::move(own), plan_any_kernels);
}

Result<plan::Plan> plan_joint(const PlanRequest& request) {
  Result<TimedPlan> best = plan_any_processors(request);
  if (!best.ok()) return best.error();
  return std::move(best->plan);
}

}  // namespace

PlannerEntry joint_planner() {
  return {
      .name = "joint",
      .summary = "order, what is made again and what moves, by prices; never predicted slower than sentinel",
      .plan = plan_joint,
      .traits = {.decides = "prices, search",
                 .profiles = true,
                 .counts_accesses = true,
                 .moves = true,
                 .recomputes = true,
                 .reorders = true,
                 .whole_step = true,
                 .all_tensors = true,
                 .any_graph = true,
                 .groups_small = true,
                 .several_tiers = true,
                 .bound = true},
      .additions = {{.name = "kernels",
                     .summary = "each op's implementation by its time and its workspace (only where named)",
                     .by_default = false,
                     .chooses_implementations = true},
                    {.name = "encode",
                     .summary = "tensors with many zeros move encoded where that takes less time (only where named)",
                     .by_default = false,
                     .wants_encodings = true},
                    {.name = "processors",
                     .summary = "updates by other processors where the step is faster (only where named)",
                     .by_default = false,
                     .gives_ops_to_processors = true}}};
}

}  // namespace sluice::planners
