#include "sluice/kernels/wait_policy.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace sluice::kernels {
namespace {

constexpr Seconds kReading = 0.025;

// What the decider says after `readings` of this share of the time in run queues.
bool after(WaitDecider& decider, int readings, double share) {
  bool asleep = false;
  for (int i = 0; i < readings; ++i) asleep = decider.observe(kReading, share * kReading);
  return asleep;
}

// Quiet readings until threads spin again.
int readings_until_spinning(WaitDecider& decider) {
  int readings = 1;
  while (decider.observe(kReading, 0) && readings < 10000) ++readings;
  return readings;
}

TEST(WaitDecider, SpinsWhereNobodyQueues) {
  WaitDecider decider;
  EXPECT_FALSE(after(decider, 1000, WaitDecider::kBusyShare / 2));
}

TEST(WaitDecider, OneHiccupChangesNothing) {
  WaitDecider decider;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(after(decider, 1, 0.9));
    EXPECT_FALSE(after(decider, 1, 0));
  }
}

TEST(WaitDecider, SleepsBesideABusyProgramUntilItHasBeenQuietForAWhile) {
  WaitDecider decider;
  EXPECT_TRUE(after(decider, WaitDecider::kBusyReadings, 0.5));
  EXPECT_TRUE(after(decider, 1000, 0.5));
  EXPECT_TRUE(after(decider, WaitDecider::kQuietReadings - 1, 0));
  EXPECT_TRUE(after(decider, 1, 0.5)) << "quiet readings count in a row";
  EXPECT_TRUE(after(decider, WaitDecider::kQuietReadings - 1, 0));
  EXPECT_FALSE(after(decider, 1, 0));
}

TEST(WaitDecider, TriesSpinningMoreAndMoreSeldomWhileTheOtherStays) {
  WaitDecider decider;
  after(decider, WaitDecider::kBusyReadings, 0.5);
  int patience = WaitDecider::kQuietReadings;
  for (int trial = 0; trial < 10; ++trial) {
    EXPECT_EQ(readings_until_spinning(decider), patience);
    EXPECT_TRUE(after(decider, WaitDecider::kBusyReadings, 0.5));
    patience = std::min(2 * patience, WaitDecider::kMostQuietReadings);
  }
}

TEST(WaitDecider, ForgetsTrialsThatWentWrongOnceSpinningWentWell) {
  WaitDecider decider;
  for (int trial = 0; trial < 4; ++trial) {
    after(decider, WaitDecider::kBusyReadings, 0.5);
    readings_until_spinning(decider);
  }
  after(decider, WaitDecider::kTrialReadings, 0);
  after(decider, WaitDecider::kBusyReadings, 0.5);
  EXPECT_EQ(readings_until_spinning(decider), WaitDecider::kQuietReadings);
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A folder of threads as the kernel keeps it, written by the test.
class ThreadTimesTest : public ::testing::Test {
 protected:
  ThreadTimesTest() { std::filesystem::create_directories(folder_); }
  ~ThreadTimesTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& thread, const std::string& text) {
    std::filesystem::create_directories(folder_ / thread);
    std::ofstream(folder_ / thread / "schedstat") << text;
  }

  const std::filesystem::path folder_ = ::testing::TempDir() + "tasks-" + std::to_string(::getpid()) +
                                        ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ThreadTimesTest, AddsUpWhatThreadsDidSinceTheLastCall) {
  write("7", "1000000000 5000000000 3\n");
  write("8", "100 1000000000 3\n");
  ThreadTimes times(folder_);
  EXPECT_EQ(times.since_last()->queued, 0.0) << "what was queued before the first call is nobody's concern";
  write("7", "3000000000 5250000000 4\n");
  write("8", "100 1500000000 9\n");
  const ThreadTimes::Sums sums = times.since_last().value();
  EXPECT_DOUBLE_EQ(sums.ran, 2.0);
  EXPECT_DOUBLE_EQ(sums.queued, 0.75);
  EXPECT_EQ(times.since_last()->queued, 0.0);
}

TEST_F(ThreadTimesTest, SaysNothingWhereTheKernelDoesNot) {
  EXPECT_FALSE(ThreadTimes(folder_).since_last().has_value());
  EXPECT_FALSE(ThreadTimes(folder_ / "missing").since_last().has_value());
  write("7", "not a number");
  EXPECT_FALSE(ThreadTimes(folder_).since_last().has_value());
}

TEST(ThreadTimes, ReadsTheKernelsOwnFilesWhereThereAreAny) {
  if (!std::filesystem::exists("/proc/self/task/" + std::to_string(::getpid()) + "/schedstat")) {
    GTEST_SKIP() << "this kernel does not count what threads wait for processors";
  }
  ThreadTimes times;
  ASSERT_TRUE(times.since_last().has_value());
  for (const double begin = processor_seconds(); processor_seconds() < begin + 0.05;) {
  }
  EXPECT_GT(times.since_last().value().ran, 0.0);
}

TEST(QueuedForOthers, LeavesOutWhatOurOwnThreadsQueuedForEachOther) {
  EXPECT_DOUBLE_EQ(queued_for_others({.ran = 2.0, .queued = 0.5}, 1.0, 2), 0.0) << "we had both processors";
  EXPECT_DOUBLE_EQ(queued_for_others({.ran = 1.5, .queued = 0.5}, 1.0, 2), 0.5) << "somebody had half of one";
  EXPECT_DOUBLE_EQ(queued_for_others({.ran = 0.2, .queued = 0.1}, 1.0, 2), 0.1) << "the rest was idle";
  EXPECT_DOUBLE_EQ(queued_for_others({.ran = 2.1, .queued = 0.1}, 1.0, 2), 0.0) << "clocks differ a little";
}

// Processor time that a thread burns at a barrier while the other one sleeps for a tenth of a second.
double burnt_at_barrier() {
  double burnt = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const double before = processor_seconds();
#pragma omp barrier
    if (omp_get_thread_num() == 0) burnt = processor_seconds() - before;
  }
  return burnt;
}

TEST(SleepingBarriers, TakeEffectWhileTheyExist) {
  if (omp_get_num_procs() < 2 || std::getenv("OMP_WAIT_POLICY") != nullptr) {
    GTEST_SKIP() << "barriers do not spin here anyway";
  }
  burnt_at_barrier();
  const double spinning = burnt_at_barrier();
  {
    const SleepingBarriers sleeping;
    EXPECT_LT(burnt_at_barrier(), spinning / 3);
  }
  EXPECT_GT(burnt_at_barrier(), spinning / 3) << "and no longer";
}

TEST(WaitPolicy, IsOneForTheProcess) {
  const std::shared_ptr<WaitPolicy> first = WaitPolicy::of_process();
  EXPECT_EQ(WaitPolicy::of_process(), first);
}

}  // namespace
}  // namespace sluice::kernels
