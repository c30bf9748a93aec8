#include "sluice/memory/observe/disturbances.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::memory {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CountingDisturbances, NamesADebugger) {
  EXPECT_THAT(disturbances_in("Name:\tx\nTracerPid:\t1234\nUid:\t0\n"), Contains(HasSubstr("process 1234 is tracing")));
}

TEST(CountingDisturbances, SaysNothingOfADebuggerThatIsNotThere) {
  EXPECT_THAT(disturbances_in("TracerPid:\t0\n"), Not(Contains(HasSubstr("tracing"))));
  EXPECT_THAT(disturbances_in(""), Not(Contains(HasSubstr("tracing"))));
}

TEST(CountingDisturbances, NamesTheSanitizerOfThisBuild) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_THAT(counting_disturbances(), Contains(HasSubstr("Sanitizer")));
#else
  EXPECT_THAT(counting_disturbances(), Not(Contains(HasSubstr("Sanitizer"))));
#endif
}

}  // namespace
}  // namespace sluice::memory
