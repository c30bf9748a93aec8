#include "sluice/memory/transfer/memory_line.hpp"

#include <gtest/gtest.h>

namespace sluice::memory {
namespace {

TEST(MemoryLine, LetsBytesPassOneBehindTheOther) {
  MemoryLine line(1e6);
  const Clock::time_point begin = Clock::now();
  const Clock::time_point first = line.end_of(1000);
  EXPECT_GE(first, begin + to_duration(1e-3));
  EXPECT_EQ(line.end_of(2'000'000'000), first + to_duration(2000)) << "asked for while the first still passes";
}

TEST(MemoryLine, HoldsUntilTheEnd) {
  const Clock::time_point end = Clock::now() + to_duration(2e-3);
  MemoryLine::hold_until(end);
  EXPECT_GE(Clock::now(), end);
}

TEST(MemoryLine, HoldsNobodyForRealMemory) {
  MemoryLine line;
  const Clock::time_point end = line.end_of(1'000'000'000'000);
  EXPECT_LE(end, Clock::now());
}

}  // namespace
}  // namespace sluice::memory
