// Planners on machines with more than one slow tier.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/plan/plan_graph.hpp"
#include "sluice/planners/registry/advice.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/registry/smallest_budget.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/planners/schedule/in_place_use.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/program/program.hpp"
#include "sluice/testing/program_oracle.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/test_set.hpp"

namespace sluice::planners {
namespace {

// The near one holds `share` of what everything takes, the far one all.
struct ThreeTiers : PlanningProblem {
  ThreeTiers(graph::Graph step, const char* near, const char* far, double share)
      : PlanningProblem(std::move(step), near, 1e9), near_bytes(part(share)) {
    machine = memory::make_machine({.threads = 1, .slow = {{near, near_bytes}, {far}}}).value();
    for (memory::Link& link : machine.links) link.bandwidth = link.from + link.to == 1 ? 4e9 : 0.5e9;
  }

  PlanRequest request(double fast) const { return {graph, profile, machine, {part(fast), near_bytes, Bytes{1} << 40}}; }
  Bytes part(double share) const {
    const auto bytes = static_cast<Bytes>(share * static_cast<double>(fast_only_bytes(graph)));
    return std::max(memory::kBlockAlignment, align_down(bytes, memory::kBlockAlignment));
  }

  Bytes near_bytes;
};

class OnSeveralSlowTiers : public ::testing::TestWithParam<std::string> {};

TEST_P(OnSeveralSlowTiers, IsRightOnRandomGraphs) {
  const int seeds = testing::pick_for_set(20, 60, 600);
  int accepted = 0;
  int all_tiers = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool both_readable = seed % 2 == 0;
    const ThreeTiers problem(testing::random_graph(seed), "pmbd", both_readable ? "optane" : "pcie3", 0.15);
    for (const double share : {0.35, 0.6}) {
      const PlanRequest request = problem.request(share);
      const Result<plan::Plan> plan = make_plan(GetParam(), request);
      if (!plan.ok()) {
        EXPECT_TRUE(wants_more_room(plan.error().code)) << plan.error().message;
        continue;
      }
      ++accepted;
      for (std::size_t tier = 0; tier < request.budgets.size(); ++tier) {
        EXPECT_LE(plan->arena_bytes[tier], request.budgets[tier]);
      }
      all_tiers += plan->arena_bytes[1] > 0 && plan->arena_bytes[2] > 0 ? 1 : 0;
      const program::Program program = program::lower_plan(problem.graph, problem.machine, *plan).value();
      EXPECT_EQ(testing::find_race(plan::PlanGraph(problem.graph, *plan).graph(), program, seed), std::nullopt);
    }
  }
  EXPECT_GE(accepted, seeds * 5 / 12);
  EXPECT_GE(all_tiers, seeds / 4) << "or this shows nothing";
}

TEST_P(OnSeveralSlowTiers, LeavesTheFarTierAloneWhereTheNearOneHoldsEverything) {
  const ThreeTiers problem(merged_model("resnet20", 4, 32), "pmbd", "optane", 2.0);
  PlanRequest request = problem.request(1.0);
  request.budgets[memory::kFastTier] = smallest_feasible_bytes(GetParam(), request).value();
  const plan::Plan plan = make_plan(GetParam(), request).value();
  EXPECT_GT(plan.arena_bytes[1], 0);
  EXPECT_EQ(plan.arena_bytes[2], 0);
}

// Host memory behind a device's link is joined to the file: that is for planners that compute there.
TEST_P(OnSeveralSlowTiers, LeavesLinksBetweenThemAlone) {
  ThreeTiers problem(merged_model("resnet20", 4, 32), "pcie3", "file", 0.15);
  const Status added = memory::add_processors({{"device", 1, {}}, {"host", 1, {"pcie3"}}}, problem.machine);
  ASSERT_TRUE(added.ok()) << added.error().message;
  const Result<plan::Plan> joined = make_plan(GetParam(), problem.request(0.6));
  ASSERT_TRUE(std::ranges::any_of(problem.machine.links, memory::joins_slow_tiers));
  std::erase_if(problem.machine.links, memory::joins_slow_tiers);
  const Result<plan::Plan> star = make_plan(GetParam(), problem.request(0.6));
  ASSERT_EQ(joined.ok(), star.ok());
  if (!star.ok()) return;
  EXPECT_EQ(joined->residencies, star->residencies);
  EXPECT_EQ(joined->migrations, star->migrations);
  EXPECT_EQ(joined->predicted_step_seconds, star->predicted_step_seconds);
  EXPECT_EQ(joined->order_bound_seconds, star->order_bound_seconds);
}

TEST_P(OnSeveralSlowTiers, SaysThatTheyFillUp) {
  ThreeTiers problem(merged_model("resnet20", 4, 32), "pmbd", "optane", 0.02);
  PlanRequest request = problem.request(0.6);
  request.budgets[2] = request.budgets[1];
  const Result<plan::Plan> plan = make_plan(GetParam(), request);
  ASSERT_FALSE(plan.ok());
  EXPECT_TRUE(wants_more_room(plan.error().code));
  EXPECT_THAT(advised(GetParam(), request, plan.error()).message,
              ::testing::AllOf(::testing::HasSubstr("the slow tiers fill up (pmbd with "),
                               ::testing::HasSubstr("optane with ")));
}

INSTANTIATE_TEST_SUITE_P(Planners, OnSeveralSlowTiers,
                         ::testing::Values("sentinel", "sentinel:additions=none", "redl", "on-demand", "first-touch",
                                           "swapadvisor:population=8:generations=3", "l2l"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
                           return name;
                         });

// Where packing finds the near tier too small, that tier is counted on for less, and no other.
TEST(SeveralSlowTiers, OnlyTheTierThatDidNotPackIsCountedOnForLess) {
  const ThreeTiers problem(merged_model("resnet20", 4, 32), "pmbd", "optane", 0.02);
  const PlanRequest request = problem.request(1.2);
  const graph::Liveness liveness = graph::analyze_liveness(problem.graph);
  const auto build = [&](const std::vector<Bytes>& capacities) -> std::optional<plan::PlanBuilder> {
    plan::PlanBuilder builder(problem.graph, problem.machine);
    const memory::TierId slow = capacities[1] < request.budgets[1] ? 2 : 1;
    for (graph::TensorId id = 0; id < problem.graph.tensor_count(); ++id) use_in_tier(builder, liveness, id, slow);
    return builder;
  };
  const Result<PackedPlan> packed = pack_with_less_capacity(request, request.budgets, build);
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  EXPECT_EQ(packed->capacities[memory::kFastTier], request.budgets[memory::kFastTier]);
  EXPECT_LT(packed->capacities[1], request.budgets[1]);
  EXPECT_EQ(packed->plan.arena_bytes[1], 0);
}

// A near tier whose copies cost compute time, and a far one whose lanes are idle: first come fills the near one.
TEST(SeveralSlowTiers, SentinelAsksThePriceFirst) {
  const auto predicted = [](const char* planner) {
    ThreeTiers problem(merged_model("mobilenet_v2", 4, 64), "optane", "pcie3", 0.25);
    problem.machine.tiers[1].addressable = false;
    for (memory::Link& link : problem.machine.links) {
      const bool near = link.from + link.to == 1;
      link.bandwidth = near ? 4e9 : 8e9;
      link.interference = near ? 200e-12 : 0;
    }
    return make_plan(planner, problem.request(0.4)).value().predicted_step_seconds;
  };
  EXPECT_LT(predicted("sentinel"), 0.99 * predicted("sentinel:additions=choice+staying+in-place+ahead+lending"));
}

}  // namespace
}  // namespace sluice::planners
