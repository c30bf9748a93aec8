#include "sluice/graph/loss_scale.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sluice {
namespace {

TEST(NextLossScale, HalvesDownToOneAndDoublesAfterEnoughSteps) {
  const Attributes rules{.alpha = 2, .beta = 0.5F, .size = 3};
  LossScale now{4, 1, 0};
  now = next_loss_scale(rules, now, true);
  EXPECT_EQ(now.scale, 2);
  EXPECT_EQ(now.kept, 0);
  EXPECT_EQ(now.left_out, 1);
  for (int step = 0; step < 2; ++step) now = next_loss_scale(rules, now, false);
  EXPECT_EQ(now.scale, 2);
  EXPECT_EQ(now.kept, 2);
  now = next_loss_scale(rules, now, false);
  EXPECT_EQ(now.scale, 4);
  EXPECT_EQ(now.kept, 0);
  for (int step = 0; step < 5; ++step) now = next_loss_scale(rules, now, true);
  EXPECT_EQ(now.scale, kLeastLossScale);
  EXPECT_EQ(now.left_out, 6);
  EXPECT_EQ(next_loss_scale(rules, {kMostLossScale, 2, 0}, false).scale, kMostLossScale);
}

TEST(NextLossScale, IsAPowerOfTwo) {
  for (const float scale : {1.0F, 2.0F, 65536.0F, kMostLossScale}) EXPECT_TRUE(is_loss_scale(scale)) << scale;
  for (const float scale : {0.0F, 0.5F, 3.0F, -2.0F, 2 * kMostLossScale, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_FALSE(is_loss_scale(scale)) << scale;
  }
}

}  // namespace
}  // namespace sluice
