// The steadiest plan is taken: by the percentile under noise, and never one that is predicted slower than sentinel's.
#include "sluice/planners/joint/finalists.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"

namespace sluice::planners {
namespace {

// ResNet-20 in 40 % of its memory: planned by joint it takes less than by sentinel, and by on-demand much more.
class FinalistsTest : public ::testing::Test {
 protected:
  TimedPlan plan_of(const char* planner) const {
    plan::Plan plan = make_plan(planner, request_).value();
    const Seconds seconds = plan.predicted_step_seconds;
    plan.planner_config.clear();
    return {std::move(plan), seconds};
  }

  static TimedPlan predicted(TimedPlan plan, Seconds seconds) {
    plan.seconds = seconds;
    return plan;
  }

  static std::string said(const TimedPlan& plan, std::string_view what) {
    const auto& config = plan.plan.planner_config;
    const auto found = std::ranges::find(config, what, &std::pair<std::string, std::string>::first);
    return found == config.end() ? "" : found->second;
  }

  PlanningProblem problem_{merged_model("resnet20", 16, 32), "file", 1e9};
  PlanRequest request_ = problem_.request(0.4);
  TimedPlan sentinel_ = plan_of("sentinel");
  TimedPlan joint_ = plan_of("joint");
  TimedPlan slow_ = plan_of("on-demand");
};

TEST_F(FinalistsTest, TakesThePlanOfTheLowestPercentile) {
  ASSERT_LT(joint_.seconds, 0.98 * sentinel_.seconds) << "or this shows nothing";
  for (const bool slow_first : {true, false}) {
    std::vector<TimedPlan> others{joint_, predicted(slow_, 0.995 * joint_.seconds)};
    if (slow_first) std::swap(others[0], others[1]);
    const TimedPlan taken = steadiest(request_, sentinel_, std::move(others));
    EXPECT_EQ(taken.plan.migrations, joint_.plan.migrations) << "the plain prediction does not decide";
    EXPECT_EQ(said(taken, "compared_under_noise"), "3 plans, 200 samples");
    EXPECT_LT(std::stod(said(taken, "percentile_90_seconds")),
              std::stod(said(taken, "percentile_90_seconds_of_sentinel")));
  }
}

TEST_F(FinalistsTest, SaysWhatThePlanTakesUnderNoise) {
  const TimedPlan taken = steadiest(request_, std::nullopt, {predicted(slow_, joint_.seconds), joint_});
  EXPECT_EQ(taken.plan.migrations, joint_.plan.migrations);
  const sim::NoisyStep step = sim::predict_under_noise(problem_.graph, problem_.machine, problem_.profile, joint_.plan,
                                                       judging_noise(problem_.graph))
                                  .value();
  EXPECT_NEAR(std::stod(said(taken, "percentile_90_seconds")), step.percentile_90, 1e-6);
  EXPECT_GT(step.percentile_90, joint_.seconds);
  EXPECT_EQ(said(taken, "percentile_90_seconds_of_sentinel"), "");
}

TEST_F(FinalistsTest, KeepsSentinelsWhereNoOtherIsSteadier) {
  const TimedPlan taken = steadiest(request_, sentinel_, {predicted(slow_, 0.9 * sentinel_.seconds)});
  EXPECT_EQ(taken.plan.migrations, sentinel_.plan.migrations);
  EXPECT_EQ(said(taken, "compared_under_noise"), "2 plans, 200 samples");
}

TEST_F(FinalistsTest, TakesNoPlanThatIsPredictedSlowerThanSentinels) {
  const TimedPlan taken = steadiest(request_, sentinel_, {predicted(joint_, 1.001 * sentinel_.seconds)});
  EXPECT_EQ(taken.plan.migrations, sentinel_.plan.migrations);
  EXPECT_EQ(said(taken, "compared_under_noise"), "") << "there was nothing to compare";
}

TEST_F(FinalistsTest, TakesNoPlanThatIsMuchSlowerThanTheFastest) {
  const std::vector<TimedPlan> others{predicted(slow_, joint_.seconds / 1.02), joint_};
  const TimedPlan taken = steadiest(request_, std::nullopt, others);
  EXPECT_EQ(taken.plan.migrations, slow_.plan.migrations);
  EXPECT_EQ(said(taken, "compared_under_noise"), "1 plans, 200 samples");
}

TEST_F(FinalistsTest, TakesAnotherOnlyWhereThatIsClear) {
  TimedPlan same = predicted(sentinel_, 0.99 * sentinel_.seconds);
  same.plan.planner_config.emplace_back("made_by", "another");
  EXPECT_EQ(said(steadiest(request_, sentinel_, {same}), "made_by"), "");
}

TEST(JudgingNoise, SamplesLongStepsLess) {
  EXPECT_EQ(judging_noise(merged_model("resnet20", 4, 32)).samples, 200);
  const int samples = judging_noise(merged_model("resnet200", 1, 64)).samples;
  EXPECT_LT(samples, 200);
  EXPECT_GE(samples, 40);
}

}  // namespace
}  // namespace sluice::planners
