#include "sluice/base/parse.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ParseNumber, ReadsFiniteNumbersAndNothingBehindThem) {
  EXPECT_EQ(*parse_number("0.05"), 0.05);
  EXPECT_EQ(*parse_number("-1e3"), -1000);
  EXPECT_EQ(*parse_number("1e-320"), 1e-320) << "below the least normal number";
  for (const std::string text : {"", "x", "1x", "1 ", " 1", "+1", "--1", "1e", "0x10", "nan", "inf", "-inf", "1e999"}) {
    const Result<double> number = parse_number(text);
    ASSERT_FALSE(number.ok()) << text;
    EXPECT_EQ(number.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(number.error().message, "'" + text + "' is not a number");
  }
}

TEST(ParseInteger, ReadsWholeNumbersAndNothingBehindThem) {
  EXPECT_EQ(*parse_integer("-12"), -12);
  EXPECT_EQ(*parse_integer("007"), 7);
  EXPECT_EQ(*parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*parse_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const std::string text : {"", "x", "1x", "1 ", " 1", "+1", "1.0", "1e3", "0x10", "nan"}) {
    const Result<std::int64_t> number = parse_integer(text);
    ASSERT_FALSE(number.ok()) << text;
    EXPECT_EQ(number.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(number.error().message, "'" + text + "' is not a whole number");
  }
}

TEST(ParseInteger, SaysWhatIsOutOfRange) {
  EXPECT_EQ(parse_integer("9223372036854775808").error().message, "'9223372036854775808' is beyond 64 bits");
  EXPECT_EQ(parse_integer("-9223372036854775809").error().message, "'-9223372036854775809' is beyond 64 bits");
  EXPECT_EQ(*parse_integer("1", 1, 64), 1);
  EXPECT_EQ(*parse_integer("64", 1, 64), 64);
  EXPECT_EQ(parse_integer("0", 1, 64).error().message, "'0' is below 1");
  EXPECT_EQ(parse_integer("65", 1, 64).error().message, "'65' is above 64");
}

TEST(TakeNumber, LeavesWhatFollows) {
  std::string_view text = "1.5 KiB";
  EXPECT_EQ(take_number(text), 1.5);
  EXPECT_EQ(text, " KiB");
  EXPECT_EQ(take_number(text), std::nullopt);
  EXPECT_EQ(text, " KiB");
  for (std::string_view none : {"infinite", "nan%", "1e999 B"}) {
    const std::string_view before = none;
    EXPECT_EQ(take_number(none), std::nullopt);
    EXPECT_EQ(none, before);
  }
}

TEST(TakeInteger, LeavesWhatFollowsInAnyBase) {
  std::string_view text = "64:128]";
  EXPECT_EQ(take_integer(text), 64);
  EXPECT_EQ(text, ":128]");
  EXPECT_EQ(take_integer(text), std::nullopt);
  std::string_view code = "cd,";
  EXPECT_EQ(take_integer(code, 16), 0xcd);
  EXPECT_EQ(code, ",");
}

}  // namespace
}  // namespace sluice
