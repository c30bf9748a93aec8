#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/planners/plan_search.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"

namespace sluice::planners {
namespace {

struct RedlCase {
  const char* model;
  std::int64_t batch, image;
  const char* slow;
  BytesPerSecond link;
};

class Redl : public ::testing::TestWithParam<RedlCase> {};

TEST_P(Redl, BeatsOnDemandAndRespectsTheBound) {
  const RedlCase& tested = GetParam();
  const PlanningProblem problem(merged_model(tested.model, tested.batch, tested.image), tested.slow, tested.link, 4e9);
  for (const double share : {0.25, 0.6}) {
    SCOPED_TRACE(share);
    const auto redl = make_plan("redl", problem.request(share));
    const auto on_demand = make_plan("on-demand", problem.request(share));
    ASSERT_TRUE(redl.ok()) << redl.error().message;
    ASSERT_TRUE(on_demand.ok()) << on_demand.error().message;
    EXPECT_LT(redl->predicted_step_seconds, on_demand->predicted_step_seconds);
    EXPECT_GE(redl->predicted_step_seconds, redl->order_bound_seconds);
    EXPECT_THAT(redl->solver_status, ::testing::AnyOf("optimal", ::testing::HasSubstr("%")));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Redl,
                         ::testing::Values(RedlCase{"resnet20", 16, 32, "file", 2e9},
                                           RedlCase{"resnet20", 16, 32, "optane", 2e9},
                                           RedlCase{"vgg11", 2, 64, "pcie3", 2e9},
                                           RedlCase{"resnet50", 2, 64, "pmbd", 1e9}),
                         [](const auto& tested) { return std::string(tested.param.model) + "_" + tested.param.slow; });

TEST(RedlPlanner, IsWithinATenthOfFastOnlyOnPmbdAtAFifthOfTheMemory) {
  const PlanningProblem problem(merged_model("resnet32", 32, 32), "pmbd", 0, 10e9);
  const auto redl = make_plan("redl", problem.request(0.2));
  const auto fast = make_plan("fast-only", problem.request(1.0));
  ASSERT_TRUE(redl.ok() && fast.ok());
  EXPECT_LT(redl->predicted_step_seconds, 1.1 * fast->predicted_step_seconds);
}

// Where ops can use tensors in place even the largest op's operands need not be in fast memory.
TEST(RedlPlanner, NeedsHardlyAnyFastMemoryWhereOpsCanAddressTheSlowTier) {
  const PlanningProblem problem(merged_model("resnet20", 4, 32), "optane", 1e9, 4e9);
  const auto plan = make_plan("redl", problem.request(0.02));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_LE(plan->arena_bytes[memory::kFastTier], plan->budgets[memory::kFastTier]);
}

int period_of(const plan::Plan& plan) { return std::stoi(plan.planner_config.front().second); }

// Step times from outside decide, whatever the simulator would say; every plan proposed is sound.
TEST(RedlSearch, SettlesOnThePeriodThatStepsAreFastestWith) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "pmbd", 1e9, 4e9);
  const PlanRequest request = problem.request(0.4);
  auto search = make_search("redl", request);
  ASSERT_TRUE(search.ok() && *search);
  const int first = period_of((*search)->plan());
  std::vector<int> run;
  while (!(*search)->done()) {
    EXPECT_TRUE(plan::verify_plan(problem.graph, problem.machine, (*search)->plan()).empty());
    run.push_back(period_of((*search)->plan()));
    (*search)->observe({.seconds = 100.0 + std::abs(run.back() - (first + 2)), .stalls = {}});
  }
  EXPECT_THAT(std::vector<int>(run.begin(), run.begin() + 3), ::testing::ElementsAre(first, first + 1, first - 1));
  EXPECT_EQ(period_of((*search)->plan()), first + 2);
  EXPECT_EQ(period_of((*search)->best()), first + 2);
  const SearchReport report = (*search)->report();
  EXPECT_EQ(report.steps, count_of(run));
  EXPECT_EQ(report.occasions, 7) << "two with gain and five without";
  EXPECT_THAT(report.summary, ::testing::HasSubstr("after 7 rounds"));
}

TEST(RedlSearch, GivenUpHalfWayTheBestSoFarIsKept) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "pmbd", 1e9, 4e9);
  auto search = make_search("redl", problem.request(0.4));
  ASSERT_TRUE(search.ok() && *search);
  const int first = period_of((*search)->best());
  (*search)->observe({.seconds = 3, .stalls = {}});
  EXPECT_EQ(period_of((*search)->best()), first);
  (*search)->observe({.seconds = 1, .stalls = {}});
  (*search)->observe({.seconds = 2, .stalls = {}});
  EXPECT_EQ(period_of((*search)->best()), first + 1);
}

TEST(RedlSearch, NeedsASlowTier) {
  PlanningProblem problem(merged_model("resnet20", 1, 32), "file", 1e9, 4e9);
  problem.machine.tiers.resize(1);
  problem.machine.links.clear();
  PlanRequest request = problem.request(1.0);
  request.budgets.resize(1);
  EXPECT_EQ(make_search("redl", request).error().code, ErrorCode::kBadInput);
}

TEST(RedlPlanner, PlansResnet200WithinSeconds) {
  const PlanningProblem problem(merged_model("resnet200", 2, 224), "pmbd", 0, 10e9);
  const std::clock_t begin = std::clock();
  ASSERT_TRUE(make_plan("redl", problem.request(0.2)).ok());
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 20.0) << "a few seconds; sanitizers take more";
}

}  // namespace
}  // namespace sluice::planners
