#include "sluice/base/threads/cpu_affinity.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <cstdlib>
#include <thread>

namespace sluice {
namespace {

cpu_set_t own_cpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  EXPECT_EQ(pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus), 0);
  return cpus;
}

void run_on(const cpu_set_t& cpus) { ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus), 0); }

TEST(CpuAffinity, AllowsAgainWhatOpenMpOrACoreHadTaken) {
  const cpu_set_t before = own_cpus();
  std::jthread([&] {
    keep_to_cores(0, 1);
    EXPECT_EQ(usable_cpus(), 1);
    allow_every_cpu();
    EXPECT_EQ(usable_cpus(), processor_count());
  }).join();
  const cpu_set_t after = own_cpus();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

// The program is started again on the last of its CPUs, as taskset would: its threads stay there.
TEST(CpuAffinityDeathTest, StaysWithinWhatTheProgramWasGiven) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const cpu_set_t before = own_cpus();
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &before)) --last;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  run_on(one);
  EXPECT_EXIT(
      {
        allow_every_cpu();
        const cpu_set_t given = own_cpus();
        std::exit(CPU_EQUAL(&given, &one) && processor_count() == 1 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  run_on(before);
}

}  // namespace
}  // namespace sluice
