// Variations of figures have the spread that was asked for, are the same for a seed, and make a plan's step longer or
// shorter by about as much.
#include "sluice/sim/noise.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sluice/testing/tiny_step.hpp"

namespace sluice::sim {
namespace {

class NoiseTest : public ::testing::Test {
 protected:
  NoisyStep predicted(const Noise& noise) const {
    return predict_under_noise(step_.graph, step_.machine, profile_, step_.plan, noise).value();
  }

  testing::TinyStep step_ = testing::tiny_step();
  profile::Profile profile_ = testing::tiny_profile();
};

TEST_F(NoiseTest, NoneLeavesThePrediction) {
  const NoisyStep still = predicted({.op = 0, .compute = 0, .link = 0});
  EXPECT_EQ(still.median, still.percentile_90);
  EXPECT_GT(still.median, 15e-6) << "all ops one behind the other";
}

TEST_F(NoiseTest, IsTheSameForASeed) {
  EXPECT_EQ(predicted({}).percentile_90, predicted({}).percentile_90);
  EXPECT_NE(predicted({}).percentile_90, predicted({.seed = 1000}).percentile_90);
}

TEST_F(NoiseTest, MoreOfItMakesTheWorstStepsLonger) {
  const NoisyStep little = predicted({.op = 0.05, .compute = 0.01, .link = 0.05});
  const NoisyStep much = predicted({.op = 0.2, .compute = 0.1, .link = 0.4});
  EXPECT_GT(little.percentile_90, little.median);
  EXPECT_GT(much.percentile_90 - much.median, 2 * (little.percentile_90 - little.median));
}

TEST_F(NoiseTest, EachKindOfItTells) {
  for (const Noise& one : {Noise{.op = 0.2, .compute = 0, .link = 0}, Noise{.op = 0, .compute = 0.2, .link = 0},
                           Noise{.op = 0, .compute = 0, .link = 0.2}}) {
    const NoisyStep step = predicted(one);
    EXPECT_GT(step.percentile_90, 1.02 * step.median) << one.op << " " << one.compute << " " << one.link;
  }
}

TEST_F(NoiseTest, AnOpVariesByWhatWasAskedForAndAsAWhole) {
  const Noise noise{.op = 0.3, .compute = 0};
  double sum = 0;
  double squares = 0;
  constexpr int kSamples = 2000;
  for (int sample = 0; sample < kSamples; ++sample) {
    const profile::Profile profile = drifted(profile_, drawn_drift(noise, sample, profile_.op_seconds.size(), 0));
    const double logarithm = std::log(profile.op_seconds[3] / profile_.op_seconds[3]);
    EXPECT_EQ(profile.cold_seconds[3], profile.op_seconds[3]);
    EXPECT_EQ(profile.choices.begin()->second->warm[3], profile.op_seconds[3]);
    sum += logarithm;
    squares += logarithm * logarithm;
  }
  EXPECT_NEAR(sum / kSamples, 0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / kSamples), 0.3, 0.02);
}

TEST_F(NoiseTest, ALinkVariesAsAWhole) {
  const Noise noise{.link = 0.2};
  const memory::Machine machine = drifted(step_.machine, drawn_drift(noise, 3, 0, step_.machine.links.size()));
  const memory::Link& before = step_.machine.links[0];
  const memory::Link& after = machine.links[0];
  EXPECT_NE(after.bandwidth, before.bandwidth);
  EXPECT_NE(after.bandwidth / before.bandwidth, machine.links[1].bandwidth / step_.machine.links[1].bandwidth);
  EXPECT_NEAR(after.latency * after.bandwidth, before.latency * before.bandwidth, 1e-9);
}

TEST_F(NoiseTest, APlanThatIsNotSafeIsNotPredicted) {
  plan::Plan broken = step_.plan;
  broken.residencies.clear();
  EXPECT_FALSE(predict_under_noise(step_.graph, step_.machine, profile_, broken).ok());
}

}  // namespace
}  // namespace sluice::sim
