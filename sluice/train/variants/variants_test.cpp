#include "sluice/train/variants/variants.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  const auto sizes = parse_sizes(text);
  return sizes.ok() ? "" : sizes.error().message;
}

TEST(SizesTest, ListsAndRanges) {
  EXPECT_THAT(*parse_sizes("20,25,40"), ElementsAre(20, 25, 40));
  EXPECT_THAT(*parse_sizes("40,16-30:7,2"), ElementsAre(2, 16, 23, 30, 40));
  EXPECT_THAT(*parse_sizes("3-5"), ElementsAre(3, 4, 5));
  EXPECT_THAT(*parse_sizes("7-7:100"), ElementsAre(7));
  EXPECT_EQ(parse_sizes("1-256")->size(), kMostSizes);
}

TEST(SizesTest, BadListsAreRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("'' is no size above 0"));
  EXPECT_THAT(refusal("20,"), HasSubstr("'' is no size above 0"));
  EXPECT_THAT(refusal("20,0"), HasSubstr("'0' is no size"));
  EXPECT_THAT(refusal("-5"), HasSubstr("'-5' is no size"));
  EXPECT_THAT(refusal("20,abc"), HasSubstr("'abc' is no size"));
  EXPECT_THAT(refusal("20 ,30"), HasSubstr("'20 ' is no size"));
  EXPECT_THAT(refusal("30-20"), HasSubstr("'30-20' is no size"));
  EXPECT_THAT(refusal("20-30:0"), HasSubstr("'20-30:0' is no size"));
  EXPECT_THAT(refusal("99999999999999999999"), HasSubstr("is no size"));
  EXPECT_THAT(refusal("20,30,20"), HasSubstr("20 is in it twice"));
  EXPECT_THAT(refusal("20-30,25"), HasSubstr("25 is in it twice"));
  EXPECT_THAT(refusal("1-257"), HasSubstr("more than 256 sizes"));
  EXPECT_THAT(refusal("1-9000000000000000000"), HasSubstr("more than 256 sizes"));
}

TEST(SizesTest, DrawsDependOnSeedAndStepAlone) {
  const auto draw = drawn_sizes({20, 25, 30}, 1);
  const auto again = drawn_sizes({20, 25, 30}, 1);
  const auto other = drawn_sizes({20, 25, 30}, 2);
  std::map<std::int64_t, int> counts;
  int different = 0;
  for (std::int64_t step = 299; step >= 0; --step) {
    EXPECT_EQ(draw(step), again(step));
    different += draw(step) == other(step) ? 0 : 1;
    ++counts[draw(step).size];
  }
  EXPECT_EQ(counts.size(), 3U);
  for (const auto& [size, count] : counts) EXPECT_GT(count, 60) << size;
  EXPECT_GT(different, 100);
}

TEST(SizeBucketsTest, FiveLengthsAndSomeBetweenThem) {
  const SizeBuckets buckets(20, 40);
  EXPECT_EQ(buckets.of(20), 0);
  EXPECT_EQ(buckets.of(21), 0);
  EXPECT_EQ(buckets.of(25), 3);
  EXPECT_EQ(buckets.of(30), 5);
  EXPECT_EQ(buckets.of(35), 8);
  EXPECT_EQ(buckets.of(40), 9);
  EXPECT_EQ(buckets.of(1), 0);
  EXPECT_EQ(buckets.of(1000), 9);
  EXPECT_EQ(SizeBuckets().of(7), 0);
}

// Ten at most, in order, and no bucket holds sizes further apart than a tenth of the range's ratio.
TEST(SizeBucketsTest, HoldForAnyRange) {
  constexpr std::uint64_t kSeed = 20210227;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  testing::SeededRandom random(kSeed);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t smallest = random.between<std::int64_t>(1, 2000);
    const std::int64_t largest = smallest + random.between<std::int64_t>(0, 5000);
    const SizeBuckets buckets(smallest, largest);
    const double most =
        std::pow(static_cast<double>(largest) / static_cast<double>(smallest), 1.0 / SizeBuckets::kMost);
    std::map<int, std::int64_t> first;
    int last = 0;
    for (std::int64_t size = smallest; size <= largest; ++size) {
      const int bucket = buckets.of(size);
      ASSERT_GE(bucket, last);
      ASSERT_LT(bucket, SizeBuckets::kMost);
      last = bucket;
      const std::int64_t begin = first.emplace(bucket, size).first->second;
      ASSERT_LE(static_cast<double>(size), static_cast<double>(begin) * most * (1 + 1e-9))
          << smallest << "-" << largest;
    }
    EXPECT_EQ(last, SizeBuckets::kMost - 1);
    EXPECT_EQ(buckets.of(smallest - 1), buckets.of(smallest));
    EXPECT_EQ(buckets.of(largest + 1), last);
  }
}

TEST(VariantKeyTest, Text) {
  EXPECT_EQ(to_string(VariantKey{"", 25}), "size 25");
  EXPECT_EQ(to_string(VariantKey{"left", 0}), "path left");
  EXPECT_EQ(to_string(VariantKey{"left", 25}), "path left, size 25");
}

}  // namespace
}  // namespace sluice::train
