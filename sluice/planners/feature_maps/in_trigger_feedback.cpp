#include "sluice/planners/feature_maps/in_trigger_feedback.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice::planners {
namespace {

constexpr double kEarlier = 0.05;     // of the copy's time: the paper's
constexpr int kMostEarlier = 20;      // times at once: the whole of it
constexpr int kStepsWithoutGain = 6;  // steps that are no faster
constexpr Seconds kNoticed = 1e-5;    // what an op waits, to have waited

}  // namespace

InTriggerFeedback::InTriggerFeedback(const PlanRequest& request, FeatureMapPlan decided,
                                     std::vector<Seconds> fetch_seconds, plan::Plan first, int most_steps)
    : request_(request),
      decided_(std::move(decided)),
      fetch_seconds_(std::move(fetch_seconds)),
      next_(std::move(first)),
      most_steps_(most_steps) {
  decided_.ahead.assign(decided_.maps.size(), 0);
  describe(next_);
  best_ = next_;
  done_ = most_steps == 0 || next_.migrations.empty();
}

void InTriggerFeedback::observe(const StepObservation& observation) {
  SLUICE_CHECK(!done_, "the corrections are over");
  const bool first = steps_++ == 0;
  if (first) first_seconds_ = observation.seconds;
  ++since_better_;
  if (first || observation.seconds < best_seconds_) {
    best_ = next_;
    best_seconds_ = observation.seconds;
    since_better_ = 0;
  }
  const std::vector<std::size_t> late = late_maps(observation.stalls);
  const bool over = late.empty() || since_better_ >= kStepsWithoutGain || steps_ >= most_steps_;
  done_ = over || !move_triggers(late);
}

std::vector<std::size_t> InTriggerFeedback::late_maps(const std::vector<Seconds>& stalls) const {
  std::vector<std::size_t> late;
  for (const plan::Migration& each : next_.migrations) {
    if (next_.residencies[as_index(each.to)].tier != memory::kFastTier) continue;
    if (each.needed_by >= std::ssize(stalls) || stalls[as_index(each.needed_by)] <= kNoticed) continue;
    const auto map = std::ranges::find(decided_.maps, each.tensor, &FeatureMap::tensor);
    late.push_back(as_index(map - decided_.maps.begin()));
  }
  return late;
}

// False where no trigger can be moved.
bool InTriggerFeedback::move_triggers(const std::vector<std::size_t>& late) {
  for (int times = 0; times < kMostEarlier; ++times) {
    for (const std::size_t map : late) decided_.ahead[map] += kEarlier * fetch_seconds_[map];
    Result<plan::Plan> plan = plan_actions(request_, decided_);
    if (!plan.ok()) return false;
    if (plan->migrations == next_.migrations) continue;
    ++corrections_;
    next_ = std::move(plan).value();
    describe(next_);
    return true;
  }
  return false;
}

void InTriggerFeedback::describe(plan::Plan& plan) const {
  const auto count = [](auto number) { return fmt::format("{}", number); };
  const auto moved = std::ranges::count_if(decided_.ahead, [](Seconds ahead) { return ahead > 0; });
  plan.planner_config = {{"swapped", count(std::ranges::count(decided_.actions, FeatureMapAction::kSwap))},
                         {"made_again", count(std::ranges::count(decided_.actions, FeatureMapAction::kRecompute))},
                         {"corrections", count(corrections_)},
                         {"in_triggers_moved", count(moved)}};
}

SearchReport InTriggerFeedback::report() const {
  return {.steps = steps_,
          .occasions = corrections_,
          .summary = fmt::format("in-triggers were moved {} times; steps from {:.1f} to {:.1f} ms", corrections_,
                                 first_seconds_ * 1e3, best_seconds_ * 1e3)};
}

}  // namespace sluice::planners
