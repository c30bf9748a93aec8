// Op times are made up, so the first steps show a drift on every machine. What is done about it depends on the planner
// that is asked, and the bits on nothing. The link is so slow that it decides what a step takes, whatever computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "sluice/memory/presets.hpp"
#include "sluice/profile/op_estimate.hpp"
#include "sluice/testing/float_bits.hpp"
#include "sluice/train/plan_changes/watched_training.hpp"
#include "sluice/train/planning/estimated_profile.hpp"

namespace sluice::train {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kEndless = std::int64_t{1} << 40;
constexpr std::int64_t kMostSteps = 20000;  // to wait for a plan

class ReplanningTest : public ::testing::Test {
 protected:
  ReplanningTest()
      : workload_(std::move(build_workload({.model = "resnet20", .shape = {.batch = 2}, .threads = 1})).value()),
        machine_(*memory::make_machine(
            {.threads = 1, .slow = {{"file"}}, .spill_path = ::testing::TempDir(), .link_bandwidth = 50e6})),
        profile_(estimated_profile(workload_.graph(), machine_)) {
    for (Seconds& seconds : profile_.op_seconds) seconds *= 1e4;  // no machine is that slow
  }

  std::unique_ptr<Session> start(const std::string& planner, const std::string& fast) {
    const auto plan = plan_workload(workload_, machine_, profile_, planner, {*parse_memory_size(fast)});
    SLUICE_CHECK(plan.ok(), plan.error().message);
    return std::move(Session::create(workload_, machine_, *plan, {})).value();
  }

  WatchOptions options(const std::string& planner) {
    return {.planner = planner,
            .end_step = kEndless,
            .least_seconds_left = 0,
            .on_change = [this](const PlanRecord& record) {
              ++(record.changes.back().outcome == PlanChange::Outcome::kSought ? drifts_ : plans_);
            }};
  }

  std::unique_ptr<WatchedTraining> replanning(Session& session, WatchOptions options) {
    return plan_anew(session, workload_, {machine_, profile_}, nullptr, std::move(options));
  }

  std::unique_ptr<WatchedTraining> estimated(Session& session, WatchOptions options, profile::ProfileCache& cache) {
    options.cache = &cache;
    return plan_anew(session, workload_, {machine_, profile_, true}, nullptr, std::move(options));
  }

  static profile::ProfileCache empty_cache() {
    const std::string folder =
        ::testing::TempDir() + "replanning_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    return profile::ProfileCache::open("here", folder);
  }
  static profile::ProfileCache reopened(const profile::ProfileCache& cache) {
    return profile::ProfileCache::open("here", cache.path().parent_path());
  }

  // Steps until a plan that was sought has been looked at; how many.
  std::int64_t run_until_planned(Training& training) {
    std::int64_t step = 0;
    for (; plans_ == 0 && step < kMostSteps; ++step) losses_.push_back(training.run_step(step, 0.05F)->loss);
    EXPECT_EQ(plans_, 1);
    return step;
  }

  void expect_same_without(const std::string& planner, const std::string& fast, const std::string& hash) {
    const auto session = start(planner, fast);
    std::vector<float> losses;
    for (std::size_t step = 0; step < losses_.size(); ++step) {
      losses.push_back(session->run_step(static_cast<std::int64_t>(step), 0.05F)->loss);
    }
    EXPECT_EQ(testing::bits_of(losses), testing::bits_of(losses_));
    EXPECT_EQ(*session->hash_parameters(), hash);
  }

  Workload workload_;
  memory::Machine machine_;
  profile::Profile profile_;
  std::vector<float> losses_;
  int drifts_ = 0, plans_ = 0;
};

TEST_F(ReplanningTest, ABetterPlanIsTakenWithTheSameBits) {
  const auto session = start("on-demand", "60%");
  const auto training = replanning(*session, options("sentinel"));
  const std::int64_t steps = run_until_planned(*training);
  EXPECT_GE(steps, kSettlingSteps + kObservedSteps);
  ASSERT_EQ(training->record().changes.size(), 1U);
  const PlanChange& replan = training->record().changes.front();
  EXPECT_EQ(replan.step, kSettlingSteps + kObservedSteps - 1);
  EXPECT_LT(replan.drift.compute, 1 / (1 + kUsualDrift));
  EXPECT_TRUE(replan.taken()) << replan.failure;
  EXPECT_LT(replan.new_seconds, replan.present_seconds);
  EXPECT_GT(replan.planning_seconds, 0);
  EXPECT_GT(replan.change_seconds, 0);
  EXPECT_EQ(session->plan().planner, "sentinel");
  EXPECT_EQ(drifts_, 1);
  expect_same_without("on-demand", "60%", *session->hash_parameters());
}

TEST_F(ReplanningTest, TheFirstStepsMeasureInsteadOfEstimatesWithTheSameBits) {
  const auto session = start("on-demand", "60%");
  profile::ProfileCache cache = empty_cache();
  const auto training = estimated(*session, options("sentinel"), cache);
  run_until_planned(*training);
  ASSERT_EQ(training->record().changes.size(), 1U);
  const PlanChange& replan = training->record().changes.front();
  EXPECT_TRUE(replan.estimated);
  EXPECT_EQ(replan.step, kSettlingSteps + kMeasuringSteps - 1);
  EXPECT_TRUE(replan.taken()) << replan.failure;
  EXPECT_EQ(session->plan().planner, "sentinel");
  const profile::Profile& now = training->present_figures()->profile;
  EXPECT_FALSE(training->present_figures()->estimated);
  EXPECT_GT(now.in_step_ops, now.distinct_ops / 2);
  EXPECT_GT(std::ranges::min(now.op_seconds), 0);
  const auto step_seconds = [](const profile::Profile& of) {
    return std::accumulate(of.op_seconds.begin(), of.op_seconds.end(), 0.0);
  };
  EXPECT_LT(step_seconds(now), step_seconds(profile_) / 100);
  expect_same_without("on-demand", "60%", *session->hash_parameters());
  const profile::Profile known = profile::known_profile(workload_.graph(), machine_, reopened(cache));
  EXPECT_EQ(known.in_step_ops, now.in_step_ops) << "kept for the next run";
}

TEST_F(ReplanningTest, WhereEverythingFitsStepsMeasureAndNothingIsSought) {
  const auto session = start("fast-only", "100%");
  profile::ProfileCache cache = empty_cache();
  const auto training = estimated(*session, options("joint"), cache);
  for (std::int64_t step = 0; step < kSettlingSteps + kMeasuringSteps + 1; ++step) {
    EXPECT_EQ(training->present_figures()->estimated, step < kSettlingSteps + kMeasuringSteps);
    ASSERT_TRUE(training->run_step(step, 0.05F).ok());
  }
  EXPECT_TRUE(training->record().changes.empty());
  EXPECT_GT(training->present_figures()->profile.in_step_ops, 0);
}

// What ran alone is not made worse by what ran beside transfers.
TEST_F(ReplanningTest, WhatTheCacheKnowsOfOpsThatRanAloneStays) {
  const auto session = start("on-demand", "60%");
  profile::ProfileCache cache = empty_cache();
  const std::string signature = graph::op_signature(workload_.graph(), workload_.graph().op(3));
  const profile::OpMeasurement alone{.warm = {.median = 7, .min = 7, .max = 7, .samples = 5}};
  cache.put_op(signature, alone);
  const auto training = estimated(*session, options("on-demand"), cache);
  run_until_planned(*training);
  EXPECT_EQ(reopened(cache).find_op(signature), alone);
  EXPECT_LT(training->present_figures()->profile.op_seconds[3], 7) << "but this run goes by its own";
}

TEST_F(ReplanningTest, APlanThatIsNoBetterIsLeft) {
  const auto session = start("on-demand", "60%");
  const auto training = replanning(*session, options("on-demand"));
  run_until_planned(*training);
  const PlanChange& replan = training->record().changes.front();
  EXPECT_FALSE(replan.taken());
  EXPECT_EQ(replan.failure, "");
  EXPECT_EQ(replan.new_seconds, replan.present_seconds);
}

TEST_F(ReplanningTest, AFailureIsSaidAndTheRunGoesOn) {
  const auto session = start("sentinel", "60%");
  const auto training = replanning(*session, options("setinel"));
  const std::int64_t steps = run_until_planned(*training);
  EXPECT_THAT(training->record().changes.front().failure, HasSubstr("unknown planner 'setinel'"));
  EXPECT_TRUE(training->run_step(steps, 0.05F).ok());
}

TEST_F(ReplanningTest, NothingIsSoughtForAShortRest) {
  const auto session = start("sentinel", "60%");
  WatchOptions asked = options("sentinel");
  asked.end_step = 40;
  asked.least_seconds_left = 1e6;
  const auto training = replanning(*session, asked);
  for (std::int64_t step = 0; step < asked.end_step; ++step) ASSERT_TRUE(training->run_step(step, 0.05F).ok());
  EXPECT_TRUE(training->record().changes.empty());
}

TEST_F(ReplanningTest, WhatTheRestOfTheRunWouldNotEarnIsLeft) {
  const auto session = start("on-demand", "60%");
  WatchOptions asked = options("sentinel");
  asked.change_seconds = 1e12;
  asked.end_step = 1000;
  const auto training = replanning(*session, asked);
  run_until_planned(*training);
  EXPECT_LT(training->record().changes.front().new_seconds,
            planners::kWorthMoreTraffic * training->record().changes.front().present_seconds);
  EXPECT_FALSE(training->record().changes.front().taken());
}

TEST_F(ReplanningTest, APlanThatMovesNothingIsNotWatched) {
  const auto session = start("fast-only", "100%");
  const auto training = replanning(*session, options("joint"));
  ASSERT_TRUE(training->run_step(0, 0.05F).ok());
  EXPECT_EQ(training->record().warmup_steps, 0) << "for no steps to observe";
}

TEST_F(ReplanningTest, AnEndMeanwhileStopsTheSearch) {
  const auto session = start("on-demand", "60%");
  {
    const auto training = replanning(*session, options("joint"));
    for (std::int64_t step = 0; drifts_ == 0 && step < kMostSteps; ++step) {
      ASSERT_TRUE(training->run_step(step, 0.05F).ok());
    }
  }
  EXPECT_EQ(drifts_, 1);
  EXPECT_EQ(session->plan().planner, "on-demand");
}

}  // namespace
}  // namespace sluice::train
