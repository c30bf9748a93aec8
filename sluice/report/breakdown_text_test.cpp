#include "sluice/report/breakdown_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/report/charts/svg_for_tests.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;

std::vector<NamedBreakdown> two_steps() {
  const TimeBreakdown planned{.computation = 0.030,
                              .recomputation = 0.005,
                              .exposed_transfer = 0.004,
                              .processor_wait = 0,
                              .other = 0.001,
                              .overlapped_transfer = 0.020};
  TimeBreakdown measured = planned;
  measured.exposed_transfer = 0.006;
  return {{"joint, simulated", planned}, {"joint & <more>, executed", measured}};
}

TEST(BreakdownText, TheTableHasTheStepAndItsParts) {
  const std::string table = breakdown_table(two_steps());
  EXPECT_THAT(table, HasSubstr("joint, simulated"));
  EXPECT_THAT(table, HasSubstr("40.00"));
  EXPECT_THAT(table, HasSubstr("42.00"));
  EXPECT_THAT(table, HasSubstr("20.00"));
}

TEST(BreakdownText, ThePictureIsXmlAndNamesEveryPartOnce) {
  const std::string picture = breakdown_picture(two_steps(), "resnet50, batch 16");
  EXPECT_EQ(testing::xml_problem(picture), "");
  for (const char* part : {"computation", "recomputation", "exposed transfer", "processor wait", "other"})
    EXPECT_THAT(picture, HasSubstr(std::string(">") + part + "<"));
  EXPECT_THAT(picture, HasSubstr("exposed transfer 6.00 ms"));
  EXPECT_EQ(breakdown_picture({}, "nothing"), "");
}

}  // namespace
}  // namespace sluice
