#include "sluice/report/text_table.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sluice::report {
namespace {

TEST(TextTableTest, AlignsWordsLeftAndNumbersRight) {
  TextTable table({{"planner", Align::kLeft, 0}, {"step", Align::kRight, 0}});
  table.add_row({"fast-only", "1.0 ms"});
  table.add_row({"x", "100.0 ms"});
  EXPECT_EQ(table.text(),
            "planner        step\n"
            "---------  --------\n"
            "fast-only    1.0 ms\n"
            "x          100.0 ms\n");
}

TEST(TextTableTest, LeavesNoTrailingSpaces) {
  TextTable table({{"a", Align::kLeft, 5}, {"b", Align::kLeft, 5}});
  table.add_row({"x", ""});
  EXPECT_EQ(table.text(), "a      b\n-----  -----\nx\n");
}

TEST(TextTableTest, CountsCharactersNotBytes) {
  TextTable table({{"t", Align::kRight, 0}});
  table.add_row({"±1"});
  table.add_row({"123"});
  EXPECT_EQ(table.text(), "  t\n---\n ±1\n123\n");
}

TEST(TextTableTest, RefusesARowOfTheWrongLength) {
  TextTable table({{"a", Align::kLeft, 0}});
  EXPECT_THROW(table.add_row({"x", "y"}), std::logic_error);
}

TEST(TextTableTest, FieldsAlignTheirValues) {
  EXPECT_EQ(format_fields({{"a", "1"}, {"long", "2"}}), "  a     1\n  long  2\n");
}

TEST(FormatItemTest, BreaksBetweenWords) {
  EXPECT_EQ(format_item("one two three", 9), "- one two\n  three\n");
  EXPECT_EQ(format_item("overlong word", 4), "- overlong\n  word\n");
  EXPECT_EQ(format_item("four ± 5", 10), "- four ± 5\n");
}

}  // namespace
}  // namespace sluice::report
