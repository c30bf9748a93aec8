#include "sluice/reproduce/files/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "sluice/base/json_file.hpp"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const nlohmann::json& sample() {
  static const nlohmann::json document = *parse_json(R"({
    "step": 2.5, "a/b": {"~": 7}, "none": null, "flag": true, "word": "x",
    "results": [
      {"planner": "sentinel", "slowdown": 1.5, "round_ms": [10, 20, 30], "slow": []},
      {"planner": "sentinel:additions=none", "slowdown": 2.5, "slow": ["a", "b"]},
      {"planner": "slow-only", "infeasible": "why"}],
    "curve": [
      {"ranks": 1, "way": "a", "seconds": 4, "simulated": true},
      {"ranks": 2, "way": "a", "seconds": 3, "simulated": true},
      {"ranks": 2, "way": "b", "seconds": 5, "simulated": false}]})");
  return document;
}

// The numbers at a path, or the error.
Result<std::vector<double>> at(const std::string& path) {
  SLUICE_ASSIGN(const Address address, parse_address("kept#" + path));
  SLUICE_ASSIGN(const std::vector<AddressedNumber> found, numbers_at(sample(), address));
  std::vector<double> numbers;
  for (const AddressedNumber& each : found) numbers.push_back(each.value);
  return numbers;
}

std::string wrong_at(const std::string& path) {
  const auto found = at(path);
  return found.ok() ? "a number" : found.error().message;
}

TEST(AddressTest, FollowsKeysAndIndices) {
  EXPECT_THAT(*at("/step"), ElementsAre(2.5));
  EXPECT_THAT(*at("/results/0/round_ms/2"), ElementsAre(30));
  EXPECT_THAT(*at("/a~1b/~0"), ElementsAre(7));
}

TEST(AddressTest, ChoosesElementsByWhatTheyHold) {
  EXPECT_THAT(*at("/results/planner=sentinel:additions=none/slowdown"), ElementsAre(2.5));
  EXPECT_THAT(*at("/curve/ranks=2&way=b/seconds"), ElementsAre(5));
  EXPECT_THAT(*at("/curve/*ranks=2/seconds"), ElementsAre(3, 5));
  EXPECT_THAT(*at("/curve/simulated=false/seconds"), ElementsAre(5));
  EXPECT_THAT(*at("/results/slow=a,b/slowdown"), ElementsAre(2.5));
  EXPECT_THAT(*at("/results/slow=/slowdown"), ElementsAre(1.5));
}

TEST(AddressTest, StarsAreListsAndQuestionedOnesSkip) {
  EXPECT_THAT(*at("/curve/*/seconds"), ElementsAre(4, 3, 5));
  EXPECT_THAT(*at("/results/?*/slowdown"), ElementsAre(1.5, 2.5));
  EXPECT_THAT(*at("/results/?*/round_ms/*"), ElementsAre(10, 20, 30));
  EXPECT_THAT(wrong_at("/results/*/slowdown"), HasSubstr("no \"slowdown\" in kept#/results/*"));
}

TEST(AddressTest, KnowsWhatIsSimulated) {
  const auto found = numbers_at(sample(), *parse_address("kept#/curve/*/seconds"));
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE((*found)[0].simulated);
  EXPECT_FALSE((*found)[2].simulated);
}

TEST(AddressTest, SaysWhereItGoesWrong) {
  EXPECT_THAT(wrong_at("/stepp"), HasSubstr("no \"stepp\" in kept#"));
  EXPECT_THAT(wrong_at("/results/planner=joint/slowdown"), HasSubstr("no element with planner=joint in kept#/results"));
  EXPECT_THAT(wrong_at("/curve/ranks=2/seconds"), HasSubstr("2 elements with ranks=2 (add &key=value)"));
  EXPECT_THAT(wrong_at("/results/3/slowdown"), HasSubstr("3 elements, none of number 3"));
  EXPECT_THAT(wrong_at("/results/first"), HasSubstr("\"first\" is no step into a list"));
  EXPECT_THAT(wrong_at("/none"), HasSubstr("null in kept#/none"));
  EXPECT_THAT(wrong_at("/flag"), HasSubstr("no number"));
  EXPECT_THAT(wrong_at("/word/x"), HasSubstr("nothing to step into"));
  EXPECT_THAT(wrong_at("/step/*"), HasSubstr("no list"));
}

TEST(AddressTest, RefusesWhatIsNoAddress) {
  EXPECT_FALSE(parse_address("kept").ok());
  EXPECT_FALSE(parse_address("kept#").ok());
  EXPECT_FALSE(parse_address("kept#step").ok());
  EXPECT_FALSE(parse_address("../secret#/a").ok());
  EXPECT_FALSE(parse_address("#/a").ok());
}

// Any text is an address or an error; an address is written as it was read, and gives numbers or an error.
TEST(AddressTest, TakesAnyText) {
  const std::vector<std::string> parts = {"kept",     "#",
                                          "/",        "*",
                                          "?*",       "=",
                                          "&",        "~",
                                          "~0",       "~1",
                                          "~2",       "0",
                                          "1",        "99",
                                          "-1",       "results",
                                          "step",     "planner=sentinel",
                                          "rank",     " ",
                                          "",         "curve/*ranks=2",
                                          "\xc3\xa4", "18446744073709551616"};
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::string text = seed % 2 == 0 ? "kept#/" : "";
    for (std::uint64_t length = random() % 8; length > 0; --length) text += parts[random() % parts.size()];
    const Result<Address> address = parse_address(text);
    if (!address.ok()) {
      EXPECT_FALSE(address.error().message.empty());
      continue;
    }
    const Result<Address> again = parse_address(address->text());
    ASSERT_TRUE(again.ok()) << text;
    EXPECT_EQ(again->steps, address->steps);
    const auto numbers = numbers_at(sample(), *address);
    if (!numbers.ok()) {
      EXPECT_THAT(numbers.error().message, HasSubstr(" in kept#")) << text;
    }
  }
}

}  // namespace
}  // namespace sluice
