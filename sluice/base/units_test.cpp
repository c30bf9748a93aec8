#include "sluice/base/units.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ParseBytes, ReadsPlainNumbersAndBinaryUnits) {
  EXPECT_EQ(*parse_bytes("0"), 0);
  EXPECT_EQ(*parse_bytes("4096"), 4096);
  EXPECT_EQ(*parse_bytes("17B"), 17);
  EXPECT_EQ(*parse_bytes("512MiB"), 536870912);
  EXPECT_EQ(*parse_bytes("1.5 KiB"), 1536);
  EXPECT_EQ(*parse_bytes("2GiB"), Bytes{2} * kGiB);
  EXPECT_EQ(*parse_bytes("1TiB"), Bytes{1024} * kGiB);
}

TEST(ParseBytes, RejectsWhatIsNotASizeAndQuotesIt) {
  for (const char* text : {"", "MiB", "12MB", "12 apples", "-1", "nan", "inf", "1e30", "20%", "1KiB2"}) {
    const Result<Bytes> bytes = parse_bytes(text);
    ASSERT_FALSE(bytes.ok()) << text;
    EXPECT_EQ(bytes.error().code, ErrorCode::kBadInput);
    EXPECT_NE(bytes.error().message.find(fmt::format("'{}'", text)), std::string::npos) << bytes.error().message;
  }
}

TEST(ParseMemorySize, ResolvesAPercentageOfTheWhole) {
  EXPECT_EQ(parse_memory_size("20%")->resolve(1000), 200);
  EXPECT_EQ(parse_memory_size("12.5 %")->resolve(800), 100);
  EXPECT_EQ(parse_memory_size("150%")->resolve(100), 150);
  EXPECT_EQ(parse_memory_size("1KiB")->resolve(1), 1024);
}

TEST(ParseMemorySize, RejectsZeroNegativeAndAbsurdBudgets) {
  for (const char* text : {"0", "0%", "-5%", "0MiB", "-1", "%", "1e30%"})
    EXPECT_FALSE(parse_memory_size(text).ok()) << text;
}

TEST(ParseBandwidth, ReadsDecimalUnits) {
  EXPECT_DOUBLE_EQ(*parse_bandwidth("1GB/s"), 1e9);
  EXPECT_DOUBLE_EQ(*parse_bandwidth("2.5 MB/s"), 2.5e6);
  EXPECT_DOUBLE_EQ(*parse_bandwidth("3kB/s"), 3e3);
  EXPECT_DOUBLE_EQ(*parse_bandwidth("7B/s"), 7);
}

TEST(ParseBandwidth, RejectsZeroAndMissingUnits) {
  for (const char* text : {"0GB/s", "-1GB/s", "1GB", "1", "fast", ""}) EXPECT_FALSE(parse_bandwidth(text).ok()) << text;
}

TEST(Format, ChoosesTheUnitByMagnitude) {
  EXPECT_EQ(format_bytes(17), "17 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(512 * kMiB), "512.0 MiB");
  EXPECT_EQ(format_bytes(5 * kGiB / 2), "2.50 GiB");
  EXPECT_EQ(format_bytes(-2 * kMiB), "-2.0 MiB");
  EXPECT_EQ(format_seconds(1.5), "1.500 s");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(format_seconds(4.2e-6), "4.2 us");
  EXPECT_EQ(format_bandwidth(2.41e9), "2.41 GB/s");
  EXPECT_EQ(format_bandwidth(5e8), "500.0 MB/s");
}

TEST(Align, RoundsUpAndDownToAMultiple) {
  EXPECT_EQ(align_up(0, 64), 0);
  EXPECT_EQ(align_up(1, 64), 64);
  EXPECT_EQ(align_up(64, 64), 64);
  EXPECT_EQ(align_up(65, 64), 128);
  EXPECT_EQ(align_down(63, 64), 0);
  EXPECT_EQ(align_down(128, 64), 128);
}

}  // namespace
}  // namespace sluice
