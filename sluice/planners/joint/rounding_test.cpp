// Uses in slow memory: plans that are laid out are sound and take what the list schedule says; prices decide.
#include "sluice/planners/joint/rounding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sluice/plan/verify/verifier.hpp"
#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/planners/bound/in_place_costs.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/simulator.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::planners {
namespace {

constexpr Rounding kAll{.name = "all", .small_bytes = 0, .move_short_lived = true, .in_place = true};

PlanningProblem problem_of(std::uint64_t seed, Bytes most_bytes = 300 * memory::kBlockAlignment) {
  PlanningProblem problem(testing::random_graph(seed, {.most_bytes = most_bytes}), "optane", 2e9);
  problem.machine.cache_bytes = 64 * kKiB;
  return problem;
}

// Any choices, whether prices speak for them or not.
void choose_at_random(std::uint64_t seed, std::vector<Gap>& gaps) {
  testing::SeededRandom random(seed);
  std::set<PrefetchKey> slow;
  for (Gap& gap : gaps) {
    gap.must_cut = false;
    if (gap.left_slow()) gap.prefetch = Prefetch::kMade;
    if (random.chance(0.4)) slow.insert(key_of(gap));
  }
  leave_in_slow(gaps, slow);
}

TEST(Rounder, PlansTakeWhatTheListScheduleSays) {
  int plans = 0, used_in_slow = 0, made_in_slow = 0;
  double errors = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const PlanningProblem problem = problem_of(seed);
    const PlanRequest request = problem.request(0.8);
    Rounder rounder(request, find_slow_tiers("test", problem.machine).value(), std::nullopt);
    std::optional<Draft> draft = rounder.draft_of(kAll, Care::kPlan);
    ASSERT_TRUE(draft);
    choose_at_random(seed, draft->gaps);
    std::vector<Bytes> capacities = request.budgets;
    capacities[memory::kFastTier] = static_cast<Bytes>(0.95 * static_cast<double>(capacities[memory::kFastTier]));
    const std::optional<plan::PlanBuilder> builder = rounder.laid_out(*draft, capacities);
    if (!builder) continue;
    const plan::Plan plan = builder->finish(std::vector<Bytes>{Bytes{1} << 40, Bytes{1} << 40}).value();
    ASSERT_THAT(plan::verify_plan(problem.graph, problem.machine, plan), ::testing::IsEmpty());
    const profile::CostModel costs(problem.graph, problem.profile, problem.machine);
    const Seconds taken =
        sim::simulate(program::lower_plan(problem.graph, problem.machine, plan).value(), costs).step_seconds;
    const double error = std::abs(rounder.estimate(*draft).value() - taken) / taken;
    EXPECT_LT(error, 0.1) << "of few ops, between which copies begin and end";
    errors += error;
    ++plans;
    for (const Gap& gap : draft->gaps) {
      used_in_slow += gap.left_slow() ? 1 : 0;
      made_in_slow += gap.left_slow() && gap.is_birth() ? 1 : 0;
    }
  }
  EXPECT_GT(plans, 40);
  EXPECT_LT(errors / plans, 0.01);
  EXPECT_GT(used_in_slow, 200);
  EXPECT_GT(made_in_slow, 50);
}

// Of any choices that were tried, the search keeps the fastest.
TEST(Rounder, SearchesForBetterThanAnyStart) {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const PlanningProblem problem = problem_of(seed);
    const PlanRequest request = problem.request(0.5);
    Rounder rounder(request, find_slow_tiers("test", problem.machine).value(), std::nullopt);
    Draft draft = rounder.draft_of(kAll, Care::kPlan).value();
    const std::optional<Seconds> sought = rounder.estimate(draft);
    for (std::uint64_t turn = 0; turn < 5; ++turn) {
      choose_at_random(5 * seed + turn, draft.gaps);
      const std::optional<Seconds> other = rounder.estimate(draft);
      if (!other) continue;
      ASSERT_TRUE(sought);
      EXPECT_LE(*sought, *other);
      better += *sought < 0.99 * *other ? 1 : 0;
    }
  }
  EXPECT_GT(better, 10);
}

// A weight is read once behind a long op. Where room is dear and reading in place hides, it stays in slow memory; where
// that counts too much, it comes.
TEST(CheapestLives, StaysInSlowMemoryWhereThatIsCheaper) {
  graph::Graph graph;
  const graph::TensorId weight = graph.add_tensor({.name = "w", .shape = {kMiB}, .role = graph::Role::kParameter});
  const graph::TensorId made = graph.add_tensor({.name = "made", .shape = {kMiB}, .role = graph::Role::kActivation});
  graph.add_op({.name = "make", .kind = graph::OpKind::kRelu, .outputs = {made}});
  graph.add_op({.name = "use", .kind = graph::OpKind::kRelu, .inputs = {weight, made}});
  graph.add_op({.name = "end", .kind = graph::OpKind::kRelu});
  PlanningProblem problem(graph, "optane", 2e9);
  problem.machine.cache_bytes = 0;
  const profile::CostModel costs(graph, problem.profile, problem.machine);
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  std::vector<MovingUnit> units = find_moving_units(graph, liveness);
  for (MovingUnit& unit : units) unit.slow = {.id = 1, .outward = 1, .inward = 0};
  const std::vector<Gap> gaps = find_gaps(units, 3, 0, false, {1});
  const plan::StepPrices prices{{0, 2e-10, 0}, {{0, 0}, {0, 0}, {0, 0}}, {{1, 0}, {1, 0}, {1, 0}, {1, 0}}, {0, 0.1, 0}};
  const plan::Payments payments(two_way_link(costs, problem.machine), prices);
  const auto in_place = in_place_costs(graph, costs, problem.machine);
  const auto choice_of = [&](graph::TensorId id, double weight_of_use) {
    const auto choices = cheapest_lives(units, gaps, liveness, in_place, payments, {1}, 3, weight_of_use);
    return *std::ranges::find_if(choices, [&](const auto& each) { return units[each.key.unit].tensors[0] == id; });
  };
  EXPECT_TRUE(choice_of(weight, 1).slow);
  EXPECT_FALSE(choice_of(weight, 100).slow);
  EXPECT_FALSE(choice_of(made, 1).slow) << "writing there takes longer than its room is worth";
  // 4 MiB at 39.4 GB/s, a tenth of which is paid for, instead of their room.
  EXPECT_NEAR(choice_of(weight, 1).regret, 4 * kMiB * (2e-10 - 0.1 / 39.4e9), 1e-6);
}

int operands_in_slow(const plan::Plan& plan) {
  std::ptrdiff_t count = 0;
  for (const plan::OpPlacement& op : plan.ops) count += std::ranges::count(op.operand_tiers, 1);
  return static_cast<int>(count);
}

TEST(Joint, IsNeverPredictedSlowerThanSentinelWhereOpsUseSlowMemory) {
  int faster = 0, in_place = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const PlanningProblem problem = problem_of(seed, 8 * kMiB);
    const PlanRequest request = problem.request(0.4);
    const auto sentinel = make_plan("sentinel", request);
    auto joint = make_plan("joint", request);
    ASSERT_TRUE(joint.ok() || !sentinel.ok()) << joint.error().message;
    if (!joint.ok()) continue;
    EXPECT_THAT(plan::verify_plan(problem.graph, problem.machine, *joint), ::testing::IsEmpty());
    certify(problem.graph, problem.profile, problem.machine, *joint, 5);
    EXPECT_LE(joint->order_bound_seconds, joint->predicted_step_seconds);
    in_place += operands_in_slow(*joint);
    if (!sentinel.ok()) continue;
    EXPECT_LE(joint->predicted_step_seconds, sentinel->predicted_step_seconds * (1 + 1e-9));
    faster += joint->predicted_step_seconds < 0.99 * sentinel->predicted_step_seconds ? 1 : 0;
  }
  EXPECT_GT(faster, 1);
  EXPECT_GT(in_place, 20);
}

}  // namespace
}  // namespace sluice::planners
