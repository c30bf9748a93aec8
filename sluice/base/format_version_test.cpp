#include "sluice/base/format_version.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using nlohmann::json;

constexpr KnownVersions kTwoToFour{.oldest = 2, .newest = 4, .again = "plan again"};

std::string refusal_of(const json& document) {
  const Result<int> version = read_format(JsonReader(document), "sluice-thing", "a thing", kTwoToFour);
  return version.ok() ? "" : version.error().message;
}

TEST(FormatVersionTest, WhatIsKnownIsRead) {
  for (const int version : {2, 3, 4}) EXPECT_EQ(refusal_of({{"format", "sluice-thing"}, {"version", version}}), "");
}

TEST(FormatVersionTest, OthersAreRefusedWithBothVersionsAndWhatToDo) {
  EXPECT_EQ(
      refusal_of({{"format", "sluice-thing"}, {"version", 5}}),
      "/version: found 5, and this sluice reads 2 to 4: the file is of a newer sluice; plan again, or read it with "
      "that one");
  EXPECT_EQ(refusal_of({{"format", "sluice-thing"}, {"version", 1}}),
            "/version: found 1, and this sluice reads 2 to 4: the file is of an older sluice; plan again");
  EXPECT_THAT(describe_version(9, {.again = "save it again"}), ::testing::HasSubstr("reads 1: the file"));
}

TEST(FormatVersionTest, AnotherFormatIsNamed) {
  EXPECT_EQ(refusal_of({{"format", "sluice-json"}, {"version", 2}}),
            "/format: not a thing: expected \"sluice-thing\", found \"sluice-json\"");
  EXPECT_EQ(refusal_of({{"version", 2}}), "/format: not a thing: expected \"sluice-thing\", found none");
  EXPECT_THAT(refusal_of(json::array()), ::testing::Ne(""));
  EXPECT_EQ(refusal_of({{"format", "sluice-thing"}}), "/version: missing");
}

}  // namespace
}  // namespace sluice
