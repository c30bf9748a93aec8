#include "sluice/train/learning_rate.hpp"

#include <gtest/gtest.h>

namespace sluice::train {
namespace {

LearningRateSchedule parsed(std::string_view text) {
  auto schedule = parse_learning_rate_schedule(text);
  EXPECT_TRUE(schedule.ok()) << text;
  return schedule.ok() ? *schedule : LearningRateSchedule{};
}

TEST(LearningRateTest, ConstantStays) {
  EXPECT_FLOAT_EQ(parsed("constant").rate(0.1, 0), 0.1F);
  EXPECT_FLOAT_EQ(parsed("constant").rate(0.1, 1'000'000), 0.1F);
}

TEST(LearningRateTest, StepDecaysAtItsMilestones) {
  const LearningRateSchedule schedule = parsed("step:30,60");
  EXPECT_FLOAT_EQ(schedule.rate(1, 29), 1.0F);
  EXPECT_FLOAT_EQ(schedule.rate(1, 30), 0.1F);
  EXPECT_FLOAT_EQ(schedule.rate(1, 60), 0.01F);
  EXPECT_FLOAT_EQ(parsed("step:2:0.5").rate(1, 2), 0.5F);
}

TEST(LearningRateTest, CosineFallsToZeroAndStays) {
  const LearningRateSchedule schedule = parsed("cosine:100");
  EXPECT_FLOAT_EQ(schedule.rate(2, 0), 2.0F);
  EXPECT_FLOAT_EQ(schedule.rate(2, 50), 1.0F);
  EXPECT_FLOAT_EQ(schedule.rate(2, 100), 0.0F);
  EXPECT_FLOAT_EQ(schedule.rate(2, 5000), 0.0F);
}

TEST(LearningRateTest, WarmupRisesLinearlyThenHandsOver) {
  const LearningRateSchedule schedule = parsed("warmup:4+step:10");
  EXPECT_FLOAT_EQ(schedule.rate(1, 0), 0.25F);
  EXPECT_FLOAT_EQ(schedule.rate(1, 3), 1.0F);
  EXPECT_FLOAT_EQ(schedule.rate(1, 10), 0.1F);
}

TEST(LearningRateTest, RejectsWhatItDoesNotUnderstand) {
  for (const char* text : {"", "linear", "constant:3", "step:", "step:0", "step:5,3", "step:5:x", "step:5:-1", "cosine",
                           "cosine:0", "cosine:x", "warmup:0+constant", "warmup:5", "warmup:x+constant"}) {
    const auto schedule = parse_learning_rate_schedule(text);
    ASSERT_FALSE(schedule.ok()) << text;
    EXPECT_NE(schedule.error().message.find("learning-rate schedule"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace sluice::train
