// Sentinel (Ren et al., HPCA 2021): layer-based migration intervals, a reserved region for short-lived tensors,
// prefetch one interval ahead, eviction as soon as the interval is done with a tensor, and test and trial for what
// comes late. docs/planners/sentinel.md says what is the paper's and what is ours; each of ours can be switched off.
//
// The offline search: lengths that satisfy equation 1, best first by equation 2, are turned into whole plans and
// *simulated*; then the free room kept for migrations and the prefetch order are chosen the same way, the clock is
// refined by planning again with what the simulation showed, and prefetches that cost more than using the tensor in
// place are left out. Late prefetches are then a matter of trials (test_and_trial.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/sentinel/by_halves.hpp"
#include "sluice/planners/sentinel/sentinel_additions.hpp"
#include "sluice/planners/sentinel/test_and_trial.hpp"

namespace sluice {
namespace {

constexpr double kClearlyFaster = 0.999;  // of the best one's time

class Search {
 public:
  Search(CandidateBuilder& builder, bool ahead)
      : builder_(builder),
        ahead_(ahead),
        forecast_(forecast_compute(builder.problem().graph, builder.costs())),
        used_(forecast_) {}

  Status run();
  bool good_enough() const;
  // Begins with what another search found: whatever replaces it is faster.
  void begin_with(const ScheduleOptions& options, const Forecast& forecast) { try_options(options, forecast); }
  void pack_tightly();
  Seconds seconds() const { return best_->timeline.step_seconds; }
  Candidate take_best() { return std::move(*best_); }
  const Forecast& forecast() const { return used_; }  // that the best candidate was made with

 private:
  ScheduleOptions plain_options() const;
  std::vector<int> promising_lengths();
  void choose_length();
  void choose_headroom();
  void choose_order();
  void refine_forecast();
  void place_by_price();
  void leave_out_dear_prefetches();
  bool try_options(const ScheduleOptions& options, const Forecast& forecast, double needed = kClearlyFaster);
  bool try_options(const ScheduleOptions& options) { return try_options(options, forecast_); }
  bool has(SentinelAddition addition) const { return builder_.request().additions.has(addition); }

  CandidateBuilder& builder_;
  bool ahead_;  // prefetches may begin before the interval before
  Forecast forecast_;
  Forecast used_;
  std::optional<Candidate> best_;
  std::optional<Error> failure_;
};

IntervalEstimate estimate(const CandidateBuilder& builder, const IntervalCut& cut) {
  const BytesPerSecond inward = builder.request().machine.link(builder.slow().front().inward).bandwidth;
  return estimate_intervals(builder.problem().graph, builder.liveness(), builder.costs(), cut, builder.budget(),
                            inward);
}

// Lengths to turn into plans: those equation 1 allows, the best by equation 2 and then ever shorter ones. When the
// budget is too small for equation 1 altogether, single layers: room then decides when prefetches start (case 2).
// Where the equations decide alone, only the first.
std::vector<int> Search::promising_lengths() {
  std::vector<std::pair<Seconds, int>> allowed;
  const int spans = static_cast<int>(builder_.liveness().spans.size());
  for (int length = 1; length <= std::max(1, spans / 2); ++length) {
    const IntervalEstimate estimated = estimate(builder_, cut_into_intervals(builder_.liveness(), length));
    if (!estimated.space_ok) break;
    allowed.push_back({estimated.goal_seconds, length});
  }
  std::sort(allowed.begin(), allowed.end());
  if (!has(SentinelAddition::kChoice)) return {allowed.empty() ? 1 : allowed.front().second};
  std::vector<int> lengths;
  for (int length = allowed.empty() ? 1 : allowed.front().second; length > 1; length = length * 2 / 3) {
    lengths.push_back(length);
  }
  lengths.push_back(1);
  return lengths;
}

// True when the candidate takes less than `needed` of the time of the best so far.
bool Search::try_options(const ScheduleOptions& options, const Forecast& forecast, double needed) {
  Result<Candidate> candidate = builder_.build(options, forecast);
  if (!candidate.ok()) {
    if (!failure_) failure_ = candidate.error();
    return false;
  }
  if (best_ && candidate->timeline.step_seconds >= needed * best_->timeline.step_seconds) return false;
  best_ = std::move(candidate).value();
  used_ = forecast;
  return true;
}

// Nothing left to hide: within half a per cent of the compute time.
bool Search::good_enough() const { return best_ && best_->timeline.step_seconds < 1.005 * forecast_.start.back(); }

ScheduleOptions Search::plain_options() const { return {.staying = has(SentinelAddition::kStaying), .ahead = ahead_}; }

void Search::choose_length() {
  for (const int length : promising_lengths()) {
    ScheduleOptions options = plain_options();
    options.interval_length = length;
    options.headroom = options.staying ? builder_.budget() / 5 : 0;
    try_options(options);
  }
}

void Search::choose_headroom() {
  for (const double share : {0.0, 0.1, 0.35, 0.5}) {
    ScheduleOptions options = best_->options;
    options.headroom = static_cast<Bytes>(share * static_cast<double>(builder_.budget()));
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
  Forecast forecast = used_;
  StepTimes timeline = best_->timeline;
  Program program = best_->program;
  const ScheduleOptions options = best_->options;
  int without_gain = 0;
  for (int round = 0; round < kRounds && without_gain < kPatience && !good_enough(); ++round) {
    ++without_gain;
    learn_forecast(forecast, program, timeline);
    Result<Candidate> candidate = builder_.build(options, forecast);
    if (!candidate.ok()) break;
    timeline = candidate->timeline;
    program = candidate->program;
    if (timeline.step_seconds >= best_->timeline.step_seconds) continue;
    best_ = std::move(candidate).value();
    used_ = forecast;
    without_gain = 0;
  }
}

// Places units in slow tiers by what the last candidate moved and what its lanes cost, in rounds: a new place changes
// both.
void Search::place_by_price() {
  constexpr int kRounds = 8;
  if (builder_.slow().size() == 1) return;
  Forecast forecast = used_;
  Candidate last = *best_;
  for (int round = 0; round < kRounds && !good_enough(); ++round) {
    learn_forecast(forecast, last.program, last.timeline);
    last.options.demands = std::make_shared<const std::vector<SlowDemand>>(last.demands);
    Result<Candidate> next = builder_.build(last.options, forecast);
    if (!next.ok()) return;
    last = std::move(next).value();
    if (last.timeline.step_seconds >= best_->timeline.step_seconds) continue;
    best_ = last;
    used_ = forecast;
  }
}

// In rounds, because what is left out makes room for other tensors to stay; and by halves, because one that had better
// been made would spoil what the others gain.
void Search::leave_out_dear_prefetches() {
  const auto leave_out = [&](std::span<const DearPrefetch> dear) {
    ScheduleOptions options = best_->options;
    for (const DearPrefetch& each : dear) options.left_out.insert(each.keys.begin(), each.keys.end());
    return try_options(options, used_, 1.0);
  };
  int trials = 32;
  bool gained = true;
  while (gained) {
    const std::vector<DearPrefetch> dear = prefetches_dearer_than_use(builder_, *best_);
    gained = adopt_by_halves(std::span(dear), leave_out, trials);
  }
}

Status Search::run() {
  choose_length();
  if (!best_) {
    // Tensors small enough to stay put may be what does not fit: let everything move.
    ScheduleOptions options = plain_options();
    options.small_bytes = 0;
    try_options(options);
  }
  if (!best_) {
    // A layer may be larger than the budget, as a vocabulary's is, with a gradient that lives within it.
    ScheduleOptions options = plain_options();
    options.small_bytes = 0;
    options.move_short_lived = true;
    try_options(options);
  }
  if (!best_) return *failure_;
  const bool leaves_out = has(SentinelAddition::kInPlace) && builder_.any_addressable();
  if (leaves_out && !good_enough()) leave_out_dear_prefetches();
  if (has(SentinelAddition::kChoice)) {
    if (has(SentinelAddition::kStaying) && !good_enough()) choose_headroom();
    if (!good_enough()) choose_order();
    if (!good_enough()) refine_forecast();
    if (has(SentinelAddition::kPrices) && !good_enough()) place_by_price();
    if (leaves_out && !good_enough()) leave_out_dear_prefetches();
  }
  return {};
}

// The portfolio packed every candidate so far. What the exact search packs beside it is room for tensors to stay.
void Search::pack_tightly() {
  if (good_enough() || builder_.request().draft) return;
  std::optional<Candidate> tight = builder_.build_tightly(best_->options, used_);
  if (tight && tight->timeline.step_seconds < kClearlyFaster * seconds()) best_ = std::move(*tight);
}

std::vector<PlannerAddition> sentinel_additions() {
  return {{"choice", "simulated steps choose interval, order and room, instead of equations 1 and 2 alone"},
          {"staying", "what fits stays in fast memory, instead of leaving when two intervals do not need it"},
          {"in-place", "prefetches that are dearer than using the tensor where it lies are not made"},
          {"ahead", "prefetches begin as early as the link needs to be in time, instead of one interval ahead"},
          {"prices",
           "of several slow tiers a tensor leaves for the one where its copies cost least, instead of the nearest"},
          {.name = "encode",
           .summary = "tensors with many zeros move encoded where that takes less time (only where named)",
           .by_default = false,
           .wants_encodings = true}};
}

// "moved of as they are", in one direction over the links of all slow tiers.
std::string moved_bytes(const Candidate& candidate, const std::vector<SlowTier>& slow, LinkId SlowTier::*direction) {
  Bytes moved = 0;
  Bytes raw = 0;
  for (const SlowTier& each : slow) {
    moved += candidate.timeline.link_bytes[as_index(each.*direction)];
    raw += candidate.timeline.raw_link_bytes[as_index(each.*direction)];
  }
  return fmt::format("{} of {}", moved, raw);
}

void describe(const CandidateBuilder& builder, const Candidate& candidate, Plan& plan) {
  const ScheduleOptions& options = candidate.options;
  const IntervalCut cut = cut_into_intervals(builder.liveness(), options.interval_length);
  const IntervalEstimate estimated = estimate(builder, cut);
  const bool hottest = options.order == PrefetchOrder::kHottestFirst;
  plan.planner_config = {
      {"interval_length", fmt::format("{}", options.interval_length)},
      {"intervals", fmt::format("{}", cut.intervals.size())},
      {"prefetch_order", hottest ? "hottest-first" : "soonest-first"},
      {"accesses", builder.request().accesses == nullptr ? "ops that use a tensor" : "counted in main memory"},
      {"headroom_bytes", fmt::format("{}", options.headroom)},
      {"small_bytes", fmt::format("{}", options.small_bytes)},
      {"short_lived_tensors", options.move_short_lived ? "move" : "stay"},
      {"equation_1_tensor_bytes", fmt::format("{}", estimated.tensor_bytes)},
      {"equation_1_room_bytes", fmt::format("{}", estimated.room_bytes)},
      {"equation_2_goal_seconds", fmt::format("{:.6f}", estimated.goal_seconds)},
      {"equation_2_exposed_seconds", fmt::format("{:.6f}", estimated.exposed_seconds)},
      {"additions", names_of_additions(builder.request().additions, sentinel_additions())},
      {"prefetches", fmt::format("{}", candidate.prefetches.size())},
      {"prefetches_left_out", fmt::format("{}", options.left_out.size())},
      {"candidates_simulated", fmt::format("{}", builder.built())},
  };
  if (candidate.encoded_units == 0) return;
  plan.planner_config.emplace_back("units_worth_encoding", fmt::format("{}", candidate.encoded_units));
  plan.planner_config.emplace_back("moved_bytes_out", moved_bytes(candidate, builder.slow(), &SlowTier::outward));
  plan.planner_config.emplace_back("moved_bytes_in", moved_bytes(candidate, builder.slow(), &SlowTier::inward));
}

// The best candidate of one way to move units, with what made it.
struct Found {
  std::unique_ptr<CandidateBuilder> builder;
  std::optional<Candidate> best;
  Forecast forecast;

  Seconds seconds() const { return best->timeline.step_seconds; }
};

Result<Search> run_search(CandidateBuilder& builder, bool ahead, const Found* as_it_is) {
  Search search(builder, ahead);
  if (as_it_is != nullptr) search.begin_with(as_it_is->best->options, as_it_is->forecast);
  SLUICE_RETURN_IF_ERROR(search.run());
  return search;
}

// With prefetches an interval ahead and with earlier ones, where there is a choice: the latter if they are worth it.
Result<Search> search_both_ways(CandidateBuilder& builder, const Found* as_it_is) {
  const AdditionSet& additions = builder.request().additions;
  const bool ahead = additions.has(SentinelAddition::kAhead);
  if (!ahead || !additions.has(SentinelAddition::kChoice)) return run_search(builder, ahead, as_it_is);
  Result<Search> plain = run_search(builder, false, as_it_is);
  if (plain.ok() && plain->good_enough()) return plain;
  Result<Search> early = run_search(builder, true, nullptr);
  const bool worth = early.ok() && (!plain.ok() || early->seconds() < kWorthMoreTraffic * plain->seconds());
  return worth ? std::move(early) : std::move(plain);
}

// With `as_it_is`, units for which it pays move encoded, and the search begins with what was found without.
Result<Found> find_best(const PlanRequest& request, const std::vector<SlowTier>& slow,
                        const Found* as_it_is = nullptr) {
  auto builder = std::make_unique<CandidateBuilder>(request, slow, as_it_is != nullptr);
  SLUICE_ASSIGN(Search search, search_both_ways(*builder, as_it_is));
  search.pack_tightly();
  Candidate best = search.take_best();
  return Found{std::move(builder), std::move(best), search.forecast()};
}

// Encoding takes room for staging, so that a small budget may do better without it.
Result<Found> find_best_way(const PlanRequest& request, const std::vector<SlowTier>& slow) {
  Result<Found> as_it_is = find_best(request, slow);
  if (!as_it_is.ok() || !request.additions.has(SentinelAddition::kEncode)) return as_it_is;
  Result<Found> encoded = find_best(request, slow, &*as_it_is);
  const bool better =
      encoded.ok() && encoded->best->encoded_units > 0 && encoded->seconds() < kWorthMoreTraffic * as_it_is->seconds();
  return better ? std::move(encoded) : std::move(as_it_is);
}

Result<std::unique_ptr<PlanSearch>> search_sentinel(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("sentinel", request.machine));
  SLUICE_ASSIGN(Found found, find_best_way(request, slow));
  const auto describe_candidate = [made_by = found.builder.get()](const Candidate& candidate, Plan& plan) {
    describe(*made_by, candidate, plan);
  };
  describe_candidate(*found.best, found.best->plan);
  return std::unique_ptr<PlanSearch>(std::make_unique<TestAndTrial>(std::move(found.builder), *std::move(found.best),
                                                                    std::move(found.forecast), describe_candidate));
}

Result<Plan> plan_sentinel(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::unique_ptr<PlanSearch> search, search_sentinel(request));
  return settle_in_simulation(*search, request);
}

}  // namespace

PlannerEntry sentinel_planner() {
  return {.name = "sentinel",
          .summary = "prefetch by migration intervals, evict early (Sentinel, HPCA 2021)",
          .plan = plan_sentinel,
          .traits = {.decides = "search",
                     .profiles = true,
                     .counts_accesses = true,
                     .moves = true,
                     .all_tensors = true,
                     .any_graph = true,
                     .groups_small = true,
                     .several_tiers = true},
          .search = search_sentinel,
          .keeps_short_lived_fast = true,
          .additions = sentinel_additions()};
}

}  // namespace sluice
