// The promise of same_bits_test for every family of models, scaled down: losses and parameters are the same bits under
// every planner that can plan, tight budgets, and two kinds of slow tier.
#include <gtest/gtest.h>

#include <cmath>

#include "sluice/testing/float_bits.hpp"
#include "tests/e2e/small_families.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice {
namespace {

constexpr std::int64_t kFamilySteps = 2;

class FamiliesTest : public ::testing::TestWithParam<Family> {};

TEST_P(FamiliesTest, SameBitsOverPlannersBudgetsAndTiers) {
  Workload workload = test_workload(GetParam().options);
  const Machine host = test_machine(1, {"file"});
  const TrainedRun expected =
      train(workload, host, *test_plan(workload, host, "fast-only", "100%"), kFamilySteps, 0.01F);
  ASSERT_TRUE(std::isfinite(expected.losses.back()));
  ASSERT_NE(expected.losses.front(), expected.losses.back());
  int moving = 0;
  for (const std::string tier : {"file", "optane"}) {
    const Machine machine = test_machine(1, {tier});
    for (const std::string planner : {"first-touch", "on-demand", "sentinel", "redl", "autotm-sync", "autotm-async",
                                      "vdnn", "superneurons", "capuchin", "home:particles=40:iterations=20",
                                      "swapadvisor:population=8:generations=4", "l2l", "checkmate:branches=20"}) {
      for (const std::string fast : {"70%", "45%"}) {
        SCOPED_TRACE(tier + " " + planner + " " + fast);
        const Result<Plan> plan = test_plan(workload, machine, planner, fast);
        if (!plan.ok()) {  // for one reason each: a budget below the smallest, ops that cannot use a file in place
          const bool no_tier = planner == "first-touch" && tier == "file";
          EXPECT_TRUE(no_tier ? plan.error().code == ErrorCode::kUnsupported : wants_more_room(plan.error().code))
              << plan.error().message;
          continue;
        }
        const TrainedRun run = train(workload, machine, *plan, kFamilySteps, 0.01F);
        EXPECT_EQ(testing::bits_of(run.losses), testing::bits_of(expected.losses));
        EXPECT_EQ(run.parameter_hash, expected.parameter_hash);
        moving += run.bytes_moved > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GE(moving, 4) << "too few combinations could be planned for this test to mean much";
}

// dtr decides by the times that ops take while it runs, so a tight budget may do in one run and not in the next.
// Its memory falls into pieces, so what holds everything may not do for it.
TEST_P(FamiliesTest, SameBitsUnderDtr) {
  Workload workload = test_workload(GetParam().options);
  const Machine machine = test_machine(1, {"file"});
  const TrainedRun expected =
      train(workload, machine, *test_plan(workload, machine, "fast-only", "100%"), kFamilySteps, 0.01F);
  int trained = 0;
  int made_again = 0;
  for (const std::string fast : {"110%", "106%", "103%", "100%", "95%", "90%", "85%", "70%", "55%"}) {
    SCOPED_TRACE(fast);
    const Result<Plan> plan = test_plan(workload, machine, "dtr", fast);
    if (!plan.ok()) {
      EXPECT_TRUE(wants_more_room(plan.error().code)) << plan.error().message;
      continue;
    }
    const auto session = Session::create(workload, machine, *plan, {}).value();
    std::vector<float> losses;
    bool evicted = false;
    for (std::int64_t step = 0; step < kFamilySteps; ++step) {
      const Result<StepOutcome> outcome = session->run_step(step, 0.01F);
      if (!outcome.ok()) {
        EXPECT_EQ(outcome.error().code, ErrorCode::kNoneFound) << outcome.error().message;
        break;
      }
      losses.push_back(outcome->loss);
      evicted |= session->breakdown(outcome->trace)->recomputation > 0;
    }
    if (losses.size() < kFamilySteps) continue;
    EXPECT_EQ(testing::bits_of(losses), testing::bits_of(expected.losses));
    EXPECT_EQ(session->hash_parameters().value(), expected.parameter_hash);
    ++trained;
    made_again += evicted ? 1 : 0;
  }
  EXPECT_GE(trained, 1) << "no budget did";
  EXPECT_GE(made_again, 1) << "nothing was evicted";
}

INSTANTIATE_TEST_SUITE_P(Models, FamiliesTest, ::testing::ValuesIn(small_families()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace sluice
