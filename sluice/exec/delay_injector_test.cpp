#include "sluice/exec/delay_injector.hpp"

#include <gtest/gtest.h>

#include <ctime>

namespace sluice::exec {
namespace {

// Time on the clock, and time this thread had the processor: on a busy machine only the latter is bounded above.
struct Took {
  Seconds wall = 0;
  Seconds processor = 0;
};

Seconds read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<Seconds>(now.tv_sec) + static_cast<Seconds>(now.tv_nsec) * 1e-9;
}

Took timed(const auto& work) {
  const Took start{read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_THREAD_CPUTIME_ID)};
  work();
  return {read_clock(CLOCK_MONOTONIC) - start.wall, read_clock(CLOCK_THREAD_CPUTIME_ID) - start.processor};
}

TEST(DelayInjector, ManySmallDelaysAddUpToTheirSum) {
  DelayInjector injector(1);
  const Took took = timed([&] {
    for (int op = 0; op < 500; ++op) injector.add(100e-6);
    injector.settle();
  });
  EXPECT_GE(took.wall, 0.049);
  EXPECT_LT(took.processor, 0.055);
}

TEST(DelayInjector, CarriesADebtBelowTheQuantumUntilItIsSettled) {
  DelayInjector injector(1);
  EXPECT_LT(timed([&] { injector.add(0.9e-3); }).processor, 0.5e-3);
  EXPECT_GE(timed([&] { injector.settle(); }).wall, 0.9e-3);
}

TEST(DelayInjector, SettlingNothingReturnsAtOnce) {
  DelayInjector injector(1);
  EXPECT_LT(timed([&] { injector.settle(); }).processor, 0.5e-3);
}

}  // namespace
}  // namespace sluice::exec
