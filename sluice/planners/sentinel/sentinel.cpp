// Sentinel (Ren et al., HPCA 2021): layer-based migration intervals, a reserved region for short-lived tensors,
// prefetch one interval ahead, eviction as soon as the interval is done with a tensor. docs/planners/sentinel.md says
// what is the paper's and what is ours.
//
// The search: lengths that satisfy equation 1, best first by equation 2, are turned into whole plans and *simulated*;
// then the free room kept for migrations and the prefetch order are chosen the same way, and the clock is refined by
// planning again with what the simulation showed. Each candidate costs a few milliseconds (tens for ResNet-200).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sluice/planners/builtin.hpp"
#include "sluice/planners/pack.hpp"
#include "sluice/planners/sentinel/interval_schedule.hpp"
#include "sluice/planners/slow_tier.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice {
namespace {

struct Candidate {
  ScheduleOptions options;
  Plan plan;
  Program program;
  Timeline timeline;
};

class Search {
 public:
  Search(const PlanRequest& request, const SlowTier& slow)
      : request_(request),
        slow_(slow),
        liveness_(analyze_liveness(request.graph)),
        units_(find_moving_units(request.graph, liveness_)),
        costs_(request.graph, request.profile, request.machine),
        forecast_(forecast_compute(request.graph, costs_)),
        capacity_(request.budgets[kFastTier]) {}

  Result<Plan> run();

 private:
  std::vector<int> promising_lengths();
  void choose_length();
  void choose_headroom();
  void choose_order();
  void refine_forecast();
  bool try_options(const ScheduleOptions& options);
  Result<Candidate> build(const ScheduleOptions& options, const Forecast& forecast);
  void add_unit(PlanBuilder& builder, const MovingUnit& unit, const TensorSchedule& schedule) const;
  bool good_enough() const;
  Plan describe(Candidate candidate) const;

  const PlanRequest& request_;
  SlowTier slow_;
  Liveness liveness_;
  std::vector<MovingUnit> units_;
  CostModel costs_;
  Forecast forecast_;
  Bytes capacity_;
  std::optional<Candidate> best_;
  std::optional<Error> failure_;
  int tried_ = 0;
};

// Lengths to turn into plans: those equation 1 allows, the best by equation 2 and then ever shorter ones. When the
// budget is too small for equation 1 altogether, single layers: room then decides when prefetches start (case 2).
std::vector<int> Search::promising_lengths() {
  std::vector<std::pair<Seconds, int>> allowed;
  const int spans = static_cast<int>(liveness_.spans.size());
  for (int length = 1; length <= std::max(1, spans / 2); ++length) {
    const IntervalCut cut = cut_into_intervals(liveness_, length);
    const IntervalEstimate estimate =
        estimate_intervals(request_.graph, liveness_, costs_, cut, request_.budgets[kFastTier],
                           request_.machine.link(slow_.inward).bandwidth);
    if (!estimate.space_ok) break;
    allowed.push_back({estimate.goal_seconds, length});
  }
  std::sort(allowed.begin(), allowed.end());
  std::vector<int> lengths;
  for (int length = allowed.empty() ? 1 : allowed.front().second; length > 1; length = length * 2 / 3) {
    lengths.push_back(length);
  }
  lengths.push_back(1);
  return lengths;
}

Result<Candidate> Search::build(const ScheduleOptions& options, const Forecast& forecast) {
  ++tried_;
  const ScheduleProblem problem{request_.graph, liveness_, units_, costs_, slow_.outward, slow_.inward};
  const auto build_at = [&](Bytes capacity) -> std::optional<PlanBuilder> {
    const auto schedules = schedule_intervals(problem, options, capacity, forecast);
    if (!schedules) return std::nullopt;
    PlanBuilder builder(request_.graph, request_.machine);
    for (std::size_t i = 0; i < units_.size(); ++i) add_unit(builder, units_[i], (*schedules)[i]);
    return builder;
  };
  SLUICE_ASSIGN(PackedPlan packed, pack_with_less_capacity(request_, capacity_, build_at));
  // The next candidate will lose about as much to fragmentation: it need not find that out from the top.
  capacity_ = std::min(request_.budgets[kFastTier], packed.capacity + packed.capacity / 32);
  Program program = lower_plan(request_.graph, request_.machine, packed.plan);
  Timeline timeline = simulate(program, costs_);
  return Candidate{options, std::move(packed.plan), std::move(program), std::move(timeline)};
}

// Tensors that never move need no common pages: each keeps its own room, over its own live range.
void Search::add_unit(PlanBuilder& builder, const MovingUnit& unit, const TensorSchedule& schedule) const {
  const bool stays = schedule.pieces.size() < 2 && schedule.fast_at_start == unit.persistent;
  if (!stays) return add_block_schedule(builder, request_.graph, unit.uses, unit.tensors, slow_.id, schedule);
  for (const TensorId id : unit.tensors) {
    add_tensor_schedule(builder, request_.graph, liveness_, id, slow_.id, always_fast(liveness_, id, unit.persistent));
  }
}

// True when the candidate is at least one part in a thousand faster than the best so far.
bool Search::try_options(const ScheduleOptions& options) {
  Result<Candidate> candidate = build(options, forecast_);
  if (!candidate.ok()) {
    if (!failure_) failure_ = candidate.error();
    return false;
  }
  if (best_ && candidate->timeline.step_seconds > 0.999 * best_->timeline.step_seconds) return false;
  best_ = std::move(candidate).value();
  return true;
}

// Nothing left to hide: within half a per cent of the compute time.
bool Search::good_enough() const { return best_ && best_->timeline.step_seconds < 1.005 * forecast_.start.back(); }

void Search::choose_length() {
  for (const int length : promising_lengths()) {
    try_options({.interval_length = length, .headroom = request_.budgets[kFastTier] / 5});
  }
}

void Search::choose_headroom() {
  for (const double share : {0.0, 0.1, 0.35, 0.5}) {
    ScheduleOptions options = best_->options;
    options.headroom = static_cast<Bytes>(share * static_cast<double>(request_.budgets[kFastTier]));
    try_options(options);
  }
}

void Search::choose_order() {
  ScheduleOptions options = best_->options;
  options.order = PrefetchOrder::kSoonestFirst;
  try_options(options);
}

// Plans again with what the simulation of the last candidate showed (forecast.hpp).
void Search::refine_forecast() {
  constexpr int kRounds = 8;
  constexpr int kPatience = 3;  // rounds without gain
  Forecast forecast = forecast_;
  Timeline timeline = best_->timeline;
  Program program = best_->program;
  const ScheduleOptions options = best_->options;
  int without_gain = 0;
  for (int round = 0; round < kRounds && without_gain < kPatience && !good_enough(); ++round) {
    ++without_gain;
    learn_forecast(forecast, program, timeline, slow_.outward, slow_.inward);
    Result<Candidate> candidate = build(options, forecast);
    if (!candidate.ok()) break;
    timeline = candidate->timeline;
    program = candidate->program;
    if (timeline.step_seconds >= best_->timeline.step_seconds) continue;
    best_ = std::move(candidate).value();
    without_gain = 0;
  }
}

Result<Plan> Search::run() {
  choose_length();
  if (!best_) {
    // Tensors small enough to stay put may be what does not fit: let everything move.
    try_options({.interval_length = 1, .headroom = 0, .small_bytes = 0});
  }
  if (!best_) {
    // A layer may be larger than the budget, as a vocabulary's is, with a gradient that lives within it.
    try_options({.interval_length = 1, .headroom = 0, .small_bytes = 0, .move_short_lived = true});
  }
  if (!best_) return *failure_;
  if (!good_enough()) choose_headroom();
  if (!good_enough()) choose_order();
  if (!good_enough()) refine_forecast();
  return describe(std::move(*best_));
}

Plan Search::describe(Candidate candidate) const {
  const ScheduleOptions& options = candidate.options;
  const IntervalCut cut = cut_into_intervals(liveness_, options.interval_length);
  const IntervalEstimate estimate =
      estimate_intervals(request_.graph, liveness_, costs_, cut, request_.budgets[kFastTier],
                         request_.machine.link(slow_.inward).bandwidth);
  Plan plan = std::move(candidate.plan);
  plan.planner_config = {
      {"interval_length", fmt::format("{}", options.interval_length)},
      {"intervals", fmt::format("{}", cut.intervals.size())},
      {"prefetch_order", options.order == PrefetchOrder::kHottestFirst ? "hottest-first" : "soonest-first"},
      {"headroom_bytes", fmt::format("{}", options.headroom)},
      {"small_bytes", fmt::format("{}", options.small_bytes)},
      {"short_lived_tensors", options.move_short_lived ? "move" : "stay"},
      {"equation_1_tensor_bytes", fmt::format("{}", estimate.tensor_bytes)},
      {"equation_1_room_bytes", fmt::format("{}", estimate.room_bytes)},
      {"equation_2_goal_seconds", fmt::format("{:.6f}", estimate.goal_seconds)},
      {"equation_2_exposed_seconds", fmt::format("{:.6f}", estimate.exposed_seconds)},
      {"candidates_simulated", fmt::format("{}", tried_)},
  };
  return plan;
}

}  // namespace

Result<Plan> plan_sentinel(const PlanRequest& request) {
  SLUICE_ASSIGN(const SlowTier slow, find_slow_tier("sentinel", request.machine));
  return Search(request, slow).run();
}

}  // namespace sluice
