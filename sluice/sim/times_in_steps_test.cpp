// What the simulator does with known op times stands for steps that ran.
#include "sluice/sim/times_in_steps.hpp"

#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/sim/simulator.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::sim {
namespace {

class TimesInStepsTest : public ::testing::Test {
 protected:
  TimesInStepsTest() { program_ = program::lower_plan(step_.graph, step_.machine, step_.plan).value(); }

  // The times found, by op, in one step that takes `profile_`; costs are those of a planner that believes `believed`.
  std::vector<Seconds> found(const profile::Profile& believed) const {
    const program::StepTimes ran = simulate(program_, profile::CostModel(step_.graph, profile_, step_.machine));
    const auto samples = op_times_in_steps(program_, profile::CostModel(step_.graph, believed, step_.machine), {{ran}});
    std::vector<Seconds> seconds;
    for (const auto& each : samples) seconds.push_back(each.at(0));
    return seconds;
  }

  testing::TinyStep step_ = testing::tiny_step();
  profile::Profile profile_ = testing::tiny_profile();
  program::Program program_;
};

TEST_F(TimesInStepsTest, AreThoseOfTheOpsWithoutTheirWaits) {
  const program::StepTimes ran = simulate(program_, profile::CostModel(step_.graph, profile_, step_.machine));
  ASSERT_GT(ran.stall_seconds, 1e-6) << "or there is nothing to leave out";
  profile::Profile believed = profile_;
  for (Seconds& seconds : believed.op_seconds) seconds *= 10;
  const std::vector<Seconds> seconds = found(believed);
  for (std::size_t op = 0; op < seconds.size(); ++op) {
    EXPECT_NEAR(seconds[op], profile_.op_seconds[as_id<graph::OpIndex>(op)], 1e-12);
  }
}

TEST_F(TimesInStepsTest, WhatTransfersTakeFromOpsIsTakenOff) {
  for (memory::Link& link : step_.machine.links) link.interference = 0.3 / link.bandwidth;
  const program::StepTimes ran = simulate(program_, profile::CostModel(step_.graph, profile_, step_.machine));
  ASSERT_GT(ran.ops[1].end - ran.ops[1].begin, 1.3 * profile_.op_seconds[1]) << "a transfer runs beside it";
  const std::vector<Seconds> seconds = found(profile_);
  for (std::size_t op = 0; op < seconds.size(); ++op) {
    EXPECT_NEAR(seconds[op], profile_.op_seconds[as_id<graph::OpIndex>(op)], 1e-12);
  }
}

TEST_F(TimesInStepsTest, AnOperandInSlowMemoryTellsNothing) {
  program_.compute[3].operands[0].tier = 1;
  const program::StepTimes ran = simulate(program_, profile::CostModel(step_.graph, profile_, step_.machine));
  const auto samples =
      op_times_in_steps(program_, profile::CostModel(step_.graph, profile_, step_.machine), {{ran, ran}});
  EXPECT_TRUE(samples[3].empty());
  EXPECT_EQ(samples[2].size(), 2U);
}

}  // namespace
}  // namespace sluice::sim
