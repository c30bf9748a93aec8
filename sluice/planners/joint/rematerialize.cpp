#include "sluice/planners/joint/rematerialize.hpp"

#include <numeric>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/plan/verify/same_values.hpp"
#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/planners/joint/joint_additions.hpp"
#include "sluice/planners/joint/savings.hpp"
#include "sluice/profile/rescheduled_times.hpp"

namespace sluice::planners {
namespace {

constexpr int kPriceRounds = 6;
constexpr double kLowerBound = 0.9995;  // of a bound, to be worth another step
constexpr double kPartOfGain = 0.5;     // of what the step loses, that a round may hope to save

struct PricedStep {
  std::vector<graph::OpIndex> schedule;
  graph::Rescheduled step;
  profile::Profile profile;
  Seconds least = 0;  // compute_without_repetitions()
  CertifiedBound bound;
};

std::optional<PricedStep> priced(const PlanRequest& request, std::vector<graph::OpIndex> schedule) {
  PricedStep result{.schedule = std::move(schedule)};
  result.step = graph::reschedule(request.graph, result.schedule).value();
  if (!plan::check_same_values(request.graph, result.step, 1).empty()) return std::nullopt;
  result.profile = profile::rescheduled_times(request.profile, result.step);
  const profile::CostModel costs(result.step.graph, result.profile, request.machine);
  const bool encodes = request.additions.has(JointAddition::kEncode);
  auto bound = certified_bound(result.step.graph, costs, request.machine, request.budgets, encodes, kPriceSeconds);
  if (!bound) return std::nullopt;
  result.bound = std::move(*bound);
  result.least = compute_without_repetitions(result.step.graph, costs);
  return result;
}

std::vector<graph::OpIndex> with_savings(const PricedStep& now, const std::vector<Saving>& savings) {
  std::vector<std::vector<graph::OpIndex>> before(now.schedule.size());
  std::vector<bool> runs(now.schedule.size(), true);
  for (const Saving& each : savings) {
    if (each.again.empty()) runs[as_index(each.at)] = false;
    for (const graph::OpIndex slot : each.again) before[as_index(each.at)].push_back(now.step.op_of[as_index(slot)]);
  }
  std::vector<graph::OpIndex> schedule;
  for (std::size_t slot = 0; slot < now.schedule.size(); ++slot) {
    schedule.insert(schedule.end(), before[slot].begin(), before[slot].end());
    if (runs[slot]) schedule.push_back(now.schedule[slot]);
  }
  return schedule;
}

Seconds together(const std::vector<Saving>& savings) {
  Seconds seconds = 0;
  for (const Saving& each : savings) seconds += each.seconds;
  return seconds;
}

// Rounds of changes, each found at the prices of the round before. Returns whether one has lowered the bound.
bool improve(const PlanRequest& request, std::vector<Saving> (SavingSearch::*find)() const, PricedStep& best) {
  bool improved = false;
  double part = kPartOfGain;
  std::vector<graph::OpIndex> failed;
  for (int round = 0; round < kPriceRounds && !request.stopped(); ++round) {
    const profile::CostModel costs(best.step.graph, best.profile, request.machine);
    const SavingSearch search(best.step.graph, costs, best.bound.link, best.bound.prices);
    std::vector<Saving> savings = (search.*find)();
    if (together(savings) < (1 - kLowerBound) * best.bound.seconds) break;
    const std::vector<Saving> chosen = choose_apart(std::move(savings), part * (best.bound.seconds - best.least));
    std::vector<graph::OpIndex> schedule = with_savings(best, chosen);
    if (schedule == failed) break;
    std::optional<PricedStep> next = priced(request, schedule);
    if (next && next->bound.seconds < kLowerBound * best.bound.seconds) {
      best = std::move(*next);
      improved = true;
    } else if (part < kPartOfGain) {
      break;
    } else {
      part /= 4;
      failed = std::move(schedule);
    }
  }
  return improved;
}

}  // namespace

std::vector<PricedSchedule> rematerialize(const PlanRequest& request) {
  std::vector<graph::OpIndex> own(request.graph.ops().size());
  std::iota(own.begin(), own.end(), 0);
  std::optional<PricedStep> step = priced(request, std::move(own));
  if (!step) return {};
  std::vector<PricedSchedule> found{{step->schedule, step->bound}};
  for (const auto find : {&SavingSearch::makings, &SavingSearch::omissions}) {
    if (improve(request, find, *step)) found.push_back({step->schedule, step->bound});
  }
  return found;
}

}  // namespace sluice::planners
