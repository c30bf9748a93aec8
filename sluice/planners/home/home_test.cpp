// HOME's evaluator against a step worked out by hand, its swarm against every policy, and its plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/planners/home/swarm.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/schedule/step_for_tests.hpp"

namespace sluice::planners {
namespace {

using enum FeatureMapAction;

constexpr Seconds kOp = 1e-3;  // of each op; a map of 1 MiB takes 1.05 ms each way

// Four layers forward, each makes a map that only the next one and its own backward layer read.
struct FourMaps {
  explicit FourMaps(const std::vector<std::string>& uses = {"wr....r.", ".wr..r..", "..wrr..."})
      : graph(testing::step_of_uses(uses, kMiB)) {
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
      graph.op(op).phase = op < 4 ? graph::Phase::kForward : graph::Phase::kBackward;
    }
    profile.op_seconds.assign(graph.ops().size(), kOp);
    maps = find_feature_maps(graph, graph::analyze_liveness(graph));
  }

  PolicyCost cost(const Policy& policy, double capacity, Bytes slow = kGiB) {
    const PlanRequest request{graph, profile, machine, {kGiB, kGiB}};
    const PolicyEvaluator evaluator(request, maps, testing::kSlowOfTests,
                                    static_cast<Bytes>(capacity * static_cast<double>(kMiB)), slow);
    PolicyEvaluator::Scratch scratch;
    return evaluator.evaluate(policy, scratch);
  }

  graph::Graph graph;
  profile::Profile profile;
  memory::Machine machine = testing::machine_with(memory::TierKind::kFile, false);
  std::vector<FeatureMap> maps;
};

TEST(HomeEvaluator, CountsWhatIsKeptAndWhatIsMadeAgain) {
  FourMaps step;
  ASSERT_EQ(step.maps.size(), 3U);
  EXPECT_NEAR(step.cost({kKeep, kKeep, kKeep}, 3).seconds, 8 * kOp, 1e-9);
  EXPECT_FALSE(step.cost({kKeep, kKeep, kKeep}, 2).feasible);
  EXPECT_EQ(step.cost({kKeep, kKeep, kKeep}, 2).excess, 3 * kMiB);  // three ops lack one each
  // The second is made of the first, which is there.
  EXPECT_NEAR(step.cost({kKeep, kRecompute, kKeep}, 3).seconds, 9 * kOp, 1e-9);
  // It is made again for the second, and stays for its own reader.
  EXPECT_NEAR(step.cost({kRecompute, kRecompute, kKeep}, 3).seconds, 10 * kOp, 1e-9);
}

TEST(HomeEvaluator, HidesCopiesBehindOtherLayersAndWaitsForRoom) {
  FourMaps step;
  const Seconds copy = static_cast<Seconds>(kMiB) / 1e9;
  // Out from 2 ms on, back from 5 ms on: 6 ms is when it is read.
  EXPECT_NEAR(step.cost({kSwap, kKeep, kKeep}, 3).seconds, 8 * kOp + (copy - kOp), 1e-9);
  // With room for two, layer 2 waits until the first is gone.
  const PolicyCost tight = step.cost({kSwap, kKeep, kKeep}, 2);
  EXPECT_TRUE(tight.feasible);
  EXPECT_GT(tight.seconds, step.cost({kSwap, kKeep, kKeep}, 3).seconds);
}

TEST(HomeEvaluator, WhatIsSwappedMustHaveRoomInSlowMemory) {
  FourMaps step;
  EXPECT_TRUE(step.cost({kSwap, kSwap, kKeep}, 3, 2 * kMiB).feasible);
  const PolicyCost lacking = step.cost({kSwap, kSwap, kSwap}, 3, 2 * kMiB);
  EXPECT_FALSE(lacking.feasible);
  EXPECT_EQ(lacking.excess, kMiB);
  EXPECT_EQ(step.cost({kSwap, kKeep, kKeep}, 1, 0).excess, step.cost({kSwap, kKeep, kKeep}, 1).excess + kMiB);
}

// In room for one, the first map cannot come while op 5 reads the second.
TEST(HomeEvaluator, FetchesWhenReadWhereThereIsNoRoomAhead) {
  FourMaps step({"wr....r.", "..w..r.."});
  const PolicyCost tight = step.cost({kSwap, kKeep}, 1), wide = step.cost({kSwap, kKeep}, 2);
  ASSERT_TRUE(tight.feasible);
  EXPECT_GT(tight.seconds, wide.seconds);
}

// The first tensor is the step's input, which only makes the second one.
TEST(HomeEvaluator, AnInputStaysForWhatIsMadeOfItAgain) {
  FourMaps step({"wr......", ".w....r.", "..w..r.."});
  step.graph.tensor(0).role = graph::Role::kInput;
  ASSERT_EQ(step.maps.size(), 2U);
  EXPECT_TRUE(step.cost({kRecompute, kKeep}, 2).feasible);
  // Without the input, ops 2 to 5 would have room; op 1 reads it anyway, and op 6 makes something of it again.
  EXPECT_EQ(step.cost({kSwap, kKeep}, 1).excess, kMiB);
  EXPECT_GE(step.cost({kRecompute, kKeep}, 1).excess, 6 * kMiB);
}

// On so few maps the swarm finds what trying every policy finds.
TEST(HomeSwarm, FindsTheBestOfAllPoliciesOfASmallStep) {
  FourMaps step;
  const PlanRequest request{step.graph, step.profile, step.machine, {kGiB, kGiB}};
  for (const Bytes capacity : {3 * kMiB, 2 * kMiB}) {
    const PolicyEvaluator evaluator(request, step.maps, testing::kSlowOfTests, capacity, kGiB);
    PolicyEvaluator::Scratch scratch;
    PolicyCost best;
    bool any = false;
    for (int code = 0; code < 27; ++code) {
      const auto action = [](int digit) { return static_cast<FeatureMapAction>(digit % 3); };
      const PolicyCost cost = evaluator.evaluate({action(code), action(code / 3), action(code / 9)}, scratch);
      if (!any || cost < best) best = cost;
      any = true;
    }
    const SwarmResult found = search_by_swarm(evaluator, step.maps, {.particles = 30, .iterations = 30}, {}, {});
    EXPECT_EQ(found.cost.feasible, best.feasible);
    EXPECT_NEAR(found.cost.seconds, best.seconds, 1e-12);
    EXPECT_GT(found.skipped, 0);
    EXPECT_GE(found.evaluations, 30);
  }
}

TEST(HomeSwarm, IsTheSameWhateverTheThreadsAndAnotherWithAnotherSeed) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 2e9);
  const std::vector<FeatureMap> maps = find_feature_maps(problem.graph, graph::analyze_liveness(problem.graph));
  const PlanRequest request = problem.request(0.6);
  const PolicyEvaluator evaluator(request, maps, {.id = 1, .outward = 0, .inward = 1},
                                  request.budgets[memory::kFastTier], request.budgets[1]);
  const auto searched = [&](int threads, std::uint64_t seed) {
    return search_by_swarm(evaluator, maps, {.particles = 20, .iterations = 5, .threads = threads, .seed = seed}, {},
                           {});
  };
  const SwarmResult one = searched(1, 7), three = searched(3, 7), other = searched(1, 8);
  EXPECT_EQ(one.best, three.best);
  EXPECT_EQ(one.evaluations, three.evaluations);
  EXPECT_NE(one.best, other.best);
  ASSERT_FALSE(one.iterations.empty());
  for (std::size_t i = 1; i < one.iterations.size(); ++i) {
    if (one.iterations[i - 1].feasible > 0) {
      EXPECT_LE(one.iterations[i].best, one.iterations[i - 1].worst);
    }
  }
}

TEST(Home, PlansWithinTheBudgetAndSaysHowItSearched) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 2e9);
  const auto plan = make_plan("home:particles=60:iterations=40", problem.request(0.6));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_LE(plan->arena_bytes[memory::kFastTier], plan->budgets[memory::kFastTier]);
  std::vector<std::string> names;
  for (const auto& [name, value] : plan->planner_config) names.push_back(name);
  EXPECT_THAT(names,
              ::testing::IsSupersetOf({"swapped", "made_again", "evaluations", "evaluations_skipped", "iteration_1"}));
  const auto rule = make_plan("superneurons", problem.request(0.6));
  if (rule.ok()) {
    EXPECT_LE(plan->predicted_step_seconds, rule->predicted_step_seconds * 1.02);
  }
}

}  // namespace
}  // namespace sluice::planners
