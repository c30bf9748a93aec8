// Whoever plans does not pay for advice.
#include "sluice/planners/registry/advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/plan/rooms.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/registry/smallest_budget.hpp"

namespace sluice::planners {
namespace {

// On-demand paging, which counts how often it is asked, in a budget that holds every op and is too small nevertheless.
class AdviceTest : public ::testing::Test {
 protected:
  AdviceTest() {
    entry_.plan = [this](const PlanRequest& request) {
      ++calls_;
      return find_planner("on-demand")->plan(request);
    };
    request_.budgets[memory::kFastTier] = align_up(plan::largest_working_set(problem_.graph), memory::kBlockAlignment);
  }

  PlanningProblem problem_{merged_model("resnet20", 4, 32), "file", 1e9};
  PlanRequest request_ = problem_.request(1);
  PlannerEntry entry_ = *find_planner("on-demand");
  ChosenPlanner planner_{&entry_, {}, {}};
  int calls_ = 0;
};

TEST_F(AdviceTest, AnInfeasibleRequestRunsThePlannerOnce) {
  const Result<plan::Plan> plan = make_plan(planner_, request_);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kNoneFound);
  EXPECT_EQ(calls_, 1);
}

TEST_F(AdviceTest, WhatIsProvedAheadRunsItNotAtAll) {
  request_.budgets[memory::kFastTier] -= memory::kBlockAlignment;
  const Result<plan::Plan> plan = make_plan(planner_, request_);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kInfeasible);
  EXPECT_EQ(calls_, 0);
}

TEST_F(AdviceTest, RunsThePlannerOftenAndNamesABudgetThatWorks) {
  const Error why = make_plan(planner_, request_).error();
  const Error error = advised(planner_, request_, why);
  EXPECT_EQ(error.code, why.code);
  EXPECT_GT(calls_, 5);
  EXPECT_LE(calls_, 1 + 18);
  EXPECT_EQ(error.available_bytes, request_.budgets[memory::kFastTier]);
  ASSERT_TRUE(error.requested_bytes);
  EXPECT_EQ(*error.requested_bytes, smallest_feasible_bytes(planner_, request_).value());
  request_.budgets[memory::kFastTier] = *error.requested_bytes;
  EXPECT_TRUE(make_plan(planner_, request_).ok());
}

TEST_F(AdviceTest, SaysNothingOfOtherErrors) {
  for (const ErrorCode code :
       {ErrorCode::kBadInput, ErrorCode::kUnsupported, ErrorCode::kOutOfTime, ErrorCode::kInterrupted}) {
    EXPECT_EQ(advised(planner_, request_, {code, "no"}).message, "no");
  }
  EXPECT_EQ(calls_, 0);
}

}  // namespace
}  // namespace sluice::planners
