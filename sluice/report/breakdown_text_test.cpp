#include "sluice/report/breakdown_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::report {
namespace {

using ::testing::HasSubstr;

std::vector<NamedBreakdown> two_steps() {
  const sim::TimeBreakdown planned{.computation = 0.030,
                                   .recomputation = 0.005,
                                   .exposed_transfer = 0.004,
                                   .processor_wait = 0,
                                   .other = 0.001,
                                   .overlapped_transfer = 0.020};
  sim::TimeBreakdown measured = planned;
  measured.exposed_transfer = 0.006;
  return {{"joint, simulated", planned}, {"joint, executed", measured}};
}

TEST(BreakdownText, TheTableHasTheStepAndItsParts) {
  const std::string table = breakdown_table(two_steps());
  EXPECT_THAT(table, HasSubstr("joint, simulated"));
  EXPECT_THAT(table, HasSubstr("40.00"));
  EXPECT_THAT(table, HasSubstr("42.00"));
  EXPECT_THAT(table, HasSubstr("20.00"));
}

}  // namespace
}  // namespace sluice::report
