#include "sluice/graph/loss_scale.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::graph {
namespace {

TEST(NextLossScale, HalvesDownToOneAndDoublesAfterEnoughSteps) {
  const LossScaleAttributes rules{.growth = 2, .backoff = 0.5F, .steps = 3};
  LossScale now{4, 1, 0};
  now = next_loss_scale(rules, now, now.scale, true);
  EXPECT_EQ(now.scale, 2);
  EXPECT_EQ(now.kept, 0);
  EXPECT_EQ(now.left_out, 1);
  for (int step = 0; step < 2; ++step) now = next_loss_scale(rules, now, now.scale, false);
  EXPECT_EQ(now.scale, 2);
  EXPECT_EQ(now.kept, 2);
  now = next_loss_scale(rules, now, now.scale, false);
  EXPECT_EQ(now.scale, 4);
  EXPECT_EQ(now.kept, 0);
  for (int step = 0; step < 5; ++step) now = next_loss_scale(rules, now, now.scale, true);
  EXPECT_EQ(now.scale, kLeastLossScale);
  EXPECT_EQ(now.left_out, 6);
  EXPECT_EQ(next_loss_scale(rules, {kMostLossScale, 2, 0}, kMostLossScale, false).scale, kMostLossScale);
}

// With delays two steps are made with a scale before its overflow is seen.
TEST(NextLossScale, IsHalvedOnceForGradientsOfOneScale) {
  const LossScaleAttributes rules{.growth = 2, .backoff = 0.5F, .steps = 3};
  const LossScale once = next_loss_scale(rules, {8, 0, 0}, 8, true);
  EXPECT_EQ(once.scale, 4);
  const LossScale again = next_loss_scale(rules, once, 8, true);
  EXPECT_EQ(again.scale, 4);
  EXPECT_EQ(again.left_out, 2);
  EXPECT_EQ(next_loss_scale(rules, again, 4, true).scale, 2);
}

TEST(NextLossScale, IsAPowerOfTwo) {
  for (const float scale : {1.0F, 2.0F, 65536.0F, kMostLossScale}) EXPECT_TRUE(is_loss_scale(scale)) << scale;
  for (const float scale : {0.0F, 0.5F, 3.0F, -2.0F, 2 * kMostLossScale, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_FALSE(is_loss_scale(scale)) << scale;
  }
}

}  // namespace
}  // namespace sluice::graph
