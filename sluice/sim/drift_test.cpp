// What the simulator does on a machine that has drifted stands for observed steps: the factors are known then.
#include "sluice/sim/drift.hpp"

#include <gtest/gtest.h>

#include "sluice/sim/simulator.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::sim {
namespace {

class DriftTest : public ::testing::Test {
 protected:
  DriftTest() {
    for (memory::Link& link : step_.machine.links) {
      link.latency = 1e-6;
      link.shared_bandwidth = link.bandwidth / 2;
    }
    program_ = program::lower_plan(step_.graph, step_.machine, step_.plan).value();
  }

  program::StepTimes simulated(const memory::Machine& machine, const profile::Profile& profile) const {
    return simulate(program_, profile::CostModel(step_.graph, profile, machine));
  }

  testing::TinyStep step_ = testing::tiny_step();
  profile::Profile profile_ = testing::tiny_profile();
  program::Program program_;
};

TEST_F(DriftTest, IsNoneWhereAllIsAsPredicted) {
  const program::StepTimes predicted = simulated(step_.machine, profile_);
  const Drift drift = measure_drift(program_, predicted, {{predicted}});
  EXPECT_EQ(drift.compute, 1);
  EXPECT_EQ(drift.links, (std::vector<double>{1, 1}));
  EXPECT_EQ(drift.largest(), 1);
}

TEST_F(DriftTest, IsFoundAndReckonedWith) {
  const Drift drift{.compute = 1.3, .links = {1.7, 0.5}};
  EXPECT_EQ(drift.largest(), 2);
  const memory::Machine machine = drifted(step_.machine, drift);
  const profile::Profile profile = drifted(profile_, drift);
  EXPECT_DOUBLE_EQ(profile.cold_seconds[1], 1.3 * profile_.cold_seconds[1]);
  EXPECT_DOUBLE_EQ(profile.choices.at(graph::OpChoice{1, 0})->warm[1], 1.3 * profile_.op_seconds[1]);
  EXPECT_DOUBLE_EQ(machine.links[0].shared_bandwidth, step_.machine.links[0].shared_bandwidth / 1.7);
  const program::StepTimes observed = simulated(machine, profile);
  const Drift found = measure_drift(program_, simulated(step_.machine, profile_), {{observed}});
  EXPECT_NEAR(found.compute, 1.3, 1e-9);
  EXPECT_NEAR(found.links[0], 1.7, 1e-9);
  EXPECT_NEAR(found.links[1], 0.5, 1e-9);
}

TEST_F(DriftTest, OneOddStepDoesNotCount) {
  const program::StepTimes predicted = simulated(step_.machine, profile_);
  const program::StepTimes odd = simulated(drifted(step_.machine, {.compute = 1, .links = {9, 9}}), profile_);
  EXPECT_EQ(measure_drift(program_, predicted, {{predicted, odd, predicted}}).largest(), 1);
}

TEST_F(DriftTest, ALinkThatHardlyMovesAnythingDoesNotTell) {
  profile_.op_seconds.assign(5, 1e-3);
  const program::StepTimes predicted = simulated(step_.machine, profile_);
  const program::StepTimes observed = simulated(drifted(step_.machine, {.compute = 1, .links = {9, 9}}), profile_);
  EXPECT_EQ(measure_drift(program_, predicted, {{observed}}).largest(), 1);
}

}  // namespace
}  // namespace sluice::sim
