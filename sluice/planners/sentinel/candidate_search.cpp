#include "sluice/planners/sentinel/candidate_search.hpp"

#include <algorithm>
#include <span>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/sentinel/by_halves.hpp"
#include "sluice/planners/sentinel/left_in_slow.hpp"

namespace sluice::planners {

IntervalEstimate estimate_candidate(const CandidateBuilder& builder, const IntervalCut& cut) {
  const BytesPerSecond inward = builder.request().machine.link(builder.slow().front().inward).bandwidth;
  return estimate_intervals(builder.problem().graph, builder.liveness(), builder.costs(), cut, builder.budget(),
                            inward);
}

// Lengths to turn into plans: those equation 1 allows, the best by equation 2 and then ever shorter ones. When the
// budget is too small for equation 1 altogether, single layers: room then decides when prefetches start (case 2).
// Where the equations decide alone, only the first. Direct migration knows no longer ones, and who names a length gets it.
std::vector<int> CandidateSearch::promising_lengths() {
  const auto config = config_of<SentinelConfig>(builder_.request());
  if (config.migration == SentinelMigration::kDirect) return {1};
  if (config.interval != 0) return {config.interval};
  std::vector<std::pair<Seconds, int>> allowed;
  const int spans = count_of(builder_.liveness().spans);
  for (int length = 1; length <= std::max(1, spans / 2); ++length) {
    const IntervalEstimate estimated = estimate_candidate(builder_, cut_into_intervals(builder_.liveness(), length));
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
bool CandidateSearch::try_options(const ScheduleOptions& options, const Forecast& forecast, double needed) {
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
bool CandidateSearch::good_enough() const {
  return best_ && best_->timeline.step_seconds < 1.005 * forecast_.start.back();
}

ScheduleOptions CandidateSearch::plain_options() const {
  const auto config = config_of<SentinelConfig>(builder_.request());
  return {.migration = config.migration,
          .interval_length = std::max(1, config.interval),
          .staying = has(SentinelAddition::kStaying),
          .lending = has(SentinelAddition::kLending),
          .ahead = ahead_};
}

void CandidateSearch::choose_length() {
  for (const int length : promising_lengths()) {
    ScheduleOptions options = plain_options();
    options.interval_length = length;
    options.headroom = options.staying ? builder_.budget() / 5 : 0;
    try_options(options);
  }
}

void CandidateSearch::choose_headroom() {
  for (const double share : {0.0, 0.1, 0.35, 0.5}) {
    ScheduleOptions options = best_->options;
    options.headroom = share_of(share, builder_.budget());
    try_options(options);
  }
}

void CandidateSearch::choose_order() {
  ScheduleOptions options = best_->options;
  options.order = PrefetchOrder::kSoonestFirst;
  try_options(options);
}

// Plans again with what the simulation of the last candidate showed (forecast.hpp).
void CandidateSearch::refine_forecast() {
  constexpr int kRounds = 8;
  constexpr int kPatience = 3;  // rounds without gain
  Forecast forecast = used_;
  program::StepTimes timeline = best_->timeline;
  program::Program program = best_->program;
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
void CandidateSearch::place_by_price() {
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
void CandidateSearch::leave_out_dear_prefetches() {
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

// Where no length fits, gives up one thing after the other.
Status CandidateSearch::find_first() {
  choose_length();
  ScheduleOptions options = plain_options();
  options.small_bytes = 0;  // tensors small enough to stay put may be what does not fit: let everything move
  if (!best_) try_options(options);
  // The space for short-lived tensors may be larger than what they take while other operands are large.
  if (!best_ && !options.lending) {
    options.lending = true;
    try_options(options);
  }
  // A layer may be larger than the budget, as a vocabulary's is, with a gradient that lives within it.
  options.move_short_lived = true;
  if (!best_) try_options(options);
  if (!best_) return *failure_;
  return {};
}

Status CandidateSearch::run() {
  SLUICE_RETURN_IF_ERROR(find_first());
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
void CandidateSearch::pack_tightly() {
  if (good_enough() || builder_.request().draft) return;
  std::optional<Candidate> tight = builder_.build_tightly(best_->options, used_);
  if (tight && tight->timeline.step_seconds < kClearlyFaster * seconds()) best_ = std::move(*tight);
}

}  // namespace sluice::planners
