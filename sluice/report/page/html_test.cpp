#include "sluice/report/page/html.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::report {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(ShownNumbers, SayWhereTheyComeFrom) {
  const json document{{"a", {{{"ms", 1250.0}, {"bytes", 2097152}}}}, {"share", 0.075}, {"none", nullptr}};
  const ShownNumbers numbers(document);
  EXPECT_EQ(numbers.milliseconds("/a/0/ms"), "<data value=\"1250.0\" data-at=\"/a/0/ms\">1.250 s</data>");
  EXPECT_EQ(numbers.bytes("/a/0/bytes"), "<data value=\"2097152\" data-at=\"/a/0/bytes\">2.0 MiB</data>");
  EXPECT_THAT(numbers.percent("/share"), HasSubstr(">7.5 %<"));
  EXPECT_EQ(numbers.ratio("/none"), "–");
  EXPECT_EQ(numbers.ratio("/a/9/ms"), "–");
  EXPECT_FALSE(numbers.has("/none"));
}

}  // namespace
}  // namespace sluice::report
