// home (He, Chen, Chen, Li, Yang, Chen, Shou, "HOME: A Holistic GPU Memory Management Framework for Deep Learning", TPDS
// 2023): for every feature map at once one of three actions, by a particle swarm over the whole step.
// docs/planners/home.md says what is the paper's and what is ours.
//
// The swarm (swarm.hpp) asks the evaluator (evaluator.hpp) what a policy takes; its best policy becomes a plan. A plan
// counts by the op, and has to be packed; where it does not fit, the swarm searches again for a little less memory.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/home/swarm.hpp"
#include "sluice/planners/interruption.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"

namespace sluice::planners {
namespace {

constexpr int kMostSearches = 6;
constexpr double kCapacityShrink = 0.96;  // of the capacities of the search before
constexpr int kMostOfADraft = 30;         // particles, and iterations

struct HomeConfig {
  int particles = 500;
  int iterations = 500;
  int patience = 30;
  int threads = 2;
  std::uint64_t seed = 0;
};

const Settings& home_settings() {
  using Config = HomeConfig;
  static const Settings all{
      Config{},
      {setting<&Config::particles>({"particles", "policies that search together", "the paper's", 1, 1e6}),
       setting<&Config::iterations>({"iterations", "of the swarm, at most", "the paper's", 1, 1e6}),
       setting<&Config::patience>(
           {"patience", "iterations without a better policy after which it ends; 0: all are run", "ours", 0, 1e6}),
       setting<&Config::threads>({"threads", "that search; the plan does not depend on it", "ours", 1, 256}),
       setting<&Config::seed>({"seed", "of the policies to begin with", "ours", 0, 1e9})}};
  return all;
}

SwarmOptions options_of(const PlanRequest& request) {
  const auto config = config_of<HomeConfig>(request);
  const int most = request.draft ? kMostOfADraft : std::numeric_limits<int>::max();
  return {.particles = std::min(most, config.particles),
          .iterations = std::min(most, config.iterations),
          .patience = config.patience,
          .threads = config.threads,
          .seed = config.seed};
}

void describe_in(plan::Plan& plan, const SwarmResult& result, int searches) {
  const auto seconds = [](Seconds each) { return fmt::format("{:.6f}", each); };
  const auto count = [&](FeatureMapAction action) {
    return fmt::format("{}", std::ranges::count(result.best, action));
  };
  plan.planner_config = {{"kept", count(FeatureMapAction::kKeep)},
                         {"swapped", count(FeatureMapAction::kSwap)},
                         {"made_again", count(FeatureMapAction::kRecompute)},
                         {"evaluated_seconds", seconds(result.cost.seconds)},
                         {"iterations", fmt::format("{}", result.iterations.size())},
                         {"evaluations", fmt::format("{}", result.evaluations)},
                         {"evaluations_skipped", fmt::format("{}", result.skipped)},
                         {"searches", fmt::format("{}", searches)}};
  note_rounds(plan, result.iterations, "iteration");
  if (result.stopped) note_interruption(plan, "the best policy until then");
}

Result<plan::Plan> plan_home(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("home", request.machine));
  FeatureMapPlan wanted{.planner = "home",
                        .maps = find_feature_maps(request.graph, graph::analyze_liveness(request.graph))};
  wanted.actions.assign(wanted.maps.size(), FeatureMapAction::kKeep);
  if (Result<plan::Plan> kept = plan_actions(request, wanted); kept.ok() || wanted.maps.empty()) return kept;
  Bytes capacity = request.budgets[memory::kFastTier];
  Bytes slow_capacity = request.budgets[as_index(slow.front().id)];
  Result<plan::Plan> plan =
      Error{ErrorCode::kNoneFound,
            fmt::format(
                "home: no policy fits {} into {} of fast memory, with {} of slow memory. Raise --fast, or name another "
                "planner",
                request.graph.name, format_bytes(capacity), format_bytes(slow_capacity))};
  for (int search = 1; search <= kMostSearches; ++search) {
    const PolicyEvaluator evaluator(request, wanted.maps, slow.front(), capacity, slow_capacity);
    const bool proved = evaluator.least_bytes() > capacity && search == 1;  // later ones have less than there is
    if (proved) return Error{ErrorCode::kInfeasible, plan.error().message};
    if (evaluator.least_bytes() > capacity) return plan;
    const SwarmResult found = search_by_swarm(
        evaluator, wanted.maps, options_of(request), [&] { return request.stopped(); },
        [&](double done, const PolicyCost& best) {
          request.report(done, best.feasible ? std::optional(best.seconds) : std::nullopt);
        });
    if (!found.cost.feasible && found.stopped) return ended_before_a_plan("home", request);
    if (!found.cost.feasible) return plan;
    wanted.actions = found.best;
    plan = plan_actions(request, wanted);
    if (plan.ok()) {
      describe_in(*plan, found, search);
      request.report(found.iterations);
      return plan;
    }
    if (!wants_more_room(plan.error().code)) return plan;
    for (Bytes* each : {&capacity, &slow_capacity}) *each = share_of(kCapacityShrink, *each);
  }
  wanted.actions.assign(wanted.maps.size(), FeatureMapAction::kSwap);
  return plan_actions(request, wanted);
}

}  // namespace

PlannerEntry home_planner() {
  return {
      .name = "home",
      .summary = "keeps, swaps or makes again each feature map, by a particle swarm (He et al. 2023)",
      .plan = [](const PlanRequest& request) { return plan_without_repetitions(request, plan_home); },
      .traits = {.decides = "particle swarm", .profiles = true, .moves = true, .recomputes = true, .whole_step = true},
      .keeps_short_lived_fast = true,
      .settings = home_settings()};
}

}  // namespace sluice::planners
