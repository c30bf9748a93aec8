#include "sluice/exec/delay_injector.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace sluice {
namespace {

Seconds timed(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - start).count();
}

TEST(DelayInjector, ManySmallDelaysAddUpToTheirSum) {
  DelayInjector injector(1);
  const Seconds took = timed([&] {
    for (int op = 0; op < 500; ++op) injector.add(100e-6);
    injector.settle();
  });
  EXPECT_GE(took, 0.0499);
  EXPECT_LT(took, 0.1);  // twice what was asked: room for a busy machine
}

TEST(DelayInjector, CarriesADebtBelowTheQuantumUntilItIsSettled) {
  DelayInjector injector(1);
  const Seconds carried = timed([&] { injector.add(0.9e-3); });
  const Seconds settled = timed([&] { injector.settle(); });
  EXPECT_LT(carried, settled);
  EXPECT_GE(settled, 0.89e-3);
}

TEST(DelayInjector, SettlingNothingReturnsAtOnce) {
  DelayInjector injector(1);
  EXPECT_LT(timed([&] { injector.settle(); }), 1e-3);
}

}  // namespace
}  // namespace sluice
