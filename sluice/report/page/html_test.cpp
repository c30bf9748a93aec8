#include "sluice/report/page/html.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(HtmlTable, HasRowsWithAttributesAndNumbersToTheRight) {
  HtmlTable table({{"name"}, {"bytes", Align::kRight}});
  table.add_row({"x", "1"}, "data-tensor=\"3\"");
  EXPECT_THAT(table.html(), HasSubstr("<th scope=\"col\" class=\"number\">bytes</th>"));
  EXPECT_THAT(table.html(), HasSubstr("<tr data-tensor=\"3\"><td>x</td><td class=\"number\">1</td></tr>"));
}

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
}  // namespace sluice
