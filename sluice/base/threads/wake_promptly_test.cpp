#include "sluice/base/threads/wake_promptly.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

namespace sluice {
namespace {

int nice_of_this_thread() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid))); }

TEST(WakePromptly, IsOfTheCallingThreadAlone) {
  const int before = nice_of_this_thread();
  int within = before, of_its_child = before;
  std::jthread([&] {
    wake_promptly();
    within = nice_of_this_thread();
    EXPECT_EQ(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);  // no thread of ours starves others
    EXPECT_NE(::sched_getscheduler(0) & SCHED_RESET_ON_FORK, 0);
    std::jthread([&] { of_its_child = nice_of_this_thread(); }).join();
  }).join();
  EXPECT_LE(within, before);
  EXPECT_EQ(nice_of_this_thread(), before);
  EXPECT_EQ(of_its_child, before < 0 ? before : 0);
}

}  // namespace
}  // namespace sluice
