#include "sluice/exec/progress.hpp"

#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

namespace sluice::exec {
namespace {

TEST(Progress, WakesALaneOnceForTheOpItNeeds) {
  Progress progress(3, 0, 1);
  int wakes = 0;
  progress.set_wake(0, [&] { ++wakes; });
  EXPECT_FALSE(progress.op_done(0, 0, 1));
  progress.begin_step();
  progress.finish_op(0);
  EXPECT_EQ(wakes, 0);
  progress.finish_op(1);
  EXPECT_EQ(wakes, 1);
  progress.finish_op(2);
  EXPECT_EQ(wakes, 1);
  EXPECT_TRUE(progress.op_done(0, 0, 1));
}

TEST(Progress, CountsTheStepsOfALaneThatIsAhead) {
  Progress progress(1, 0, 1);
  int wakes = 0;
  progress.set_wake(0, [&] { ++wakes; });
  progress.begin_step();
  progress.finish_op(0);
  EXPECT_TRUE(progress.op_done(0, 0, 0));
  EXPECT_FALSE(progress.op_done(0, 1, plan::kStepStart));
  progress.begin_step();
  EXPECT_EQ(wakes, 1);
  EXPECT_TRUE(progress.op_done(0, 1, plan::kStepStart));
  EXPECT_FALSE(progress.op_done(0, 1, 0));
}

TEST(Progress, WakesOnlyTheLaneThatNeedsATransfer) {
  Progress progress(0, 2, 2);
  std::vector<int> wakes(2);
  for (std::size_t lane = 0; lane < 2; ++lane) progress.set_wake(lane, [&wakes, lane] { ++wakes[lane]; });
  progress.begin_step();
  EXPECT_FALSE(progress.transfer_done(1, 0, 0));
  progress.finish_transfer(1);
  EXPECT_EQ(wakes, (std::vector<int>{0, 0}));
  progress.finish_transfer(0);
  EXPECT_EQ(wakes, (std::vector<int>{0, 1}));
  EXPECT_TRUE(progress.transfer_done(1, 0, 0));
  EXPECT_FALSE(progress.transfer_done(1, 1, 0)) << "done in step 0 only";
}

TEST(Progress, ComputeSleepsUntilTheTransferIsDone) {
  Progress progress(1, 1, 0);
  progress.begin_step();
  EXPECT_FALSE(progress.transfer_done(0));
  std::thread lane([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    progress.finish_transfer(0);
  });
  EXPECT_TRUE(progress.wait_for_transfer(0));
  EXPECT_GE(progress.seconds_since_step_start(), 0.004);
  lane.join();
}

TEST(Progress, FailureWakesEverybodyAndKeepsTheFirstError) {
  Progress progress(1, 1, 1);
  std::counting_semaphore<> lane_awake(0);
  progress.set_wake(0, [&] { lane_awake.release(); });
  progress.begin_step();
  std::thread lane([&] {
    EXPECT_FALSE(progress.op_done(0, 0, 0));
    lane_awake.acquire();
    EXPECT_TRUE(progress.stopped());
  });
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    progress.fail(Error{ErrorCode::kIo, "first"});
    progress.fail(Error{ErrorCode::kIo, "second"});
  });
  EXPECT_FALSE(progress.wait_for_transfer(0));
  other.join();
  lane.join();
  EXPECT_EQ(progress.failure().error().message, "first");
}

// Two threads hand a turn to and fro as compute and a lane do; a single lost wake-up would hang it.
TEST(Progress, LosesNoWakeUp) {
  constexpr int kShownSteps = 5000;
  Progress progress(1, 1, 1);
  std::counting_semaphore<> awake(0);
  progress.set_wake(0, [&] { awake.release(); });
  std::thread lane([&] {
    for (int step = 0; step < kShownSteps; ++step) {
      while (!progress.op_done(0, step, 0)) awake.acquire();
      progress.finish_transfer(0);
    }
  });
  for (int step = 0; step < kShownSteps; ++step) {
    progress.begin_step();
    progress.finish_op(0);
    ASSERT_TRUE(progress.wait_for_transfer(0));
  }
  lane.join();
}

}  // namespace
}  // namespace sluice::exec
