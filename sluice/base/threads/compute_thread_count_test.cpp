#include "sluice/base/threads/compute_thread_count.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sluice {
namespace {

TEST(ComputeThreadCount, IsWhatRunsAtOnce) {
  EXPECT_EQ(usual_compute_threads({.processors = 8, .quota = {}}), 8);
  EXPECT_EQ(usual_compute_threads({.processors = 8, .quota = 2.5}), 2);
  EXPECT_EQ(usual_compute_threads({.processors = 8, .quota = 16}), 8);
  EXPECT_EQ(usual_compute_threads({.processors = 8, .quota = 0.5}), 1);
  EXPECT_EQ(usual_compute_threads({.processors = 8, .quota = 4, .usual = 3}), 3);
}

TEST(ComputeThreadCount, TheEnvironmentsLeastNumberCounts) {
  ::setenv("OMP_THREAD_LIMIT", "3", 1);
  ::setenv("SLUICE_THREADS", "4", 1);
  EXPECT_EQ(usual_thread_limit(), 3);
  ::setenv("SLUICE_THREADS", "2", 1);
  EXPECT_EQ(usual_thread_limit(), 2);
  ::setenv("OMP_THREAD_LIMIT", "0", 1);
  ::setenv("SLUICE_THREADS", "many", 1);
  EXPECT_EQ(usual_thread_limit(), std::nullopt);
  ::unsetenv("OMP_THREAD_LIMIT");
  ::unsetenv("SLUICE_THREADS");
  EXPECT_EQ(usual_thread_limit(), std::nullopt);
}

}  // namespace
}  // namespace sluice
