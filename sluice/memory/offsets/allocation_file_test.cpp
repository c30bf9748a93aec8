#include "sluice/memory/offsets/allocation_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/random.hpp"

namespace sluice::memory {
namespace {

using ::testing::HasSubstr;

TEST(AllocationFile, IsReadInAnyOrderOfColumnsAndWithEitherLineEnd) {
  const auto problem = parse_allocation("size,id,upper,lower\r\n4096,a,1000,-5\r\n\r\n7,b c,2000,1000", "here.csv");
  ASSERT_TRUE(problem.ok()) << problem.error().message;
  EXPECT_EQ(problem->ids, (std::vector<std::string>{"a", "b c"}));
  ASSERT_EQ(problem->items.size(), 2U);
  EXPECT_EQ(problem->items[0].bytes, 4096);
  EXPECT_EQ(problem->items[0].live.front(), (Interval<std::int32_t>{0, 1})) << "only the order of times matters";
  EXPECT_EQ(problem->items[1].live.front(), (Interval<std::int32_t>{1, 2}));
  EXPECT_EQ(allocation_csv(*problem, std::vector<Bytes>{0, 8}),
            "id,lower,upper,size,offset\na,-5,1000,4096,0\nb c,1000,2000,7,8\n");
}

TEST(AllocationFile, OfNothingIsFine) {
  const auto problem = parse_allocation("id,lower,upper,size", "here.csv");
  ASSERT_TRUE(problem.ok());
  EXPECT_TRUE(problem->items.empty());
}

struct BadCsv {
  std::string name, text, message;
};

class AllocationFileTest : public ::testing::TestWithParam<BadCsv> {};

TEST_P(AllocationFileTest, MistakesAreNamedWithTheirPlace) {
  const auto problem = parse_allocation(GetParam().text, "here.csv");
  ASSERT_FALSE(problem.ok());
  EXPECT_EQ(problem.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(problem.error().message, HasSubstr(GetParam().message));
}

const std::string kHeader = "id,lower,upper,size\n";

INSTANTIATE_TEST_SUITE_P(
    Mistakes, AllocationFileTest,
    ::testing::Values(
        BadCsv{"Empty", "", "here.csv: is empty"},
        BadCsv{"Unknown", "id,lower,upper,bytes\n", "here.csv:1:16: unknown"},
        BadCsv{"ColumnTwice", "id,id,upper,size\n", "here.csv:1:4: column 'id' is there twice"},
        BadCsv{"ColumnMissing", "id,upper,size\n", "here.csv:1:1: column 'lower' is missing"},
        BadCsv{"TooFew", kHeader + "a,0,1\n", "here.csv:2:5: 3 fields"},
        BadCsv{"TooMany", kHeader + "a,0,1,2,3\n", "here.csv:2:9: 5 fields"},
        BadCsv{"NoNumber", kHeader + "a,0,1,2\nb,0x,1,2\n", "here.csv:3:3: '0x' is not a whole number"},
        BadCsv{"NoSize", kHeader + "a,0,1,\n", "here.csv:2:7: '' is not a whole number"},
        BadCsv{"Fraction", kHeader + "a,0,1,2.5\n", "here.csv:2:7: '2.5'"},
        BadCsv{"Backwards", kHeader + "a,5,5,1\n", "here.csv:2:5: upper must be greater"},
        BadCsv{"Negative", kHeader + "a,0,1,-1\n", "here.csv:2:7: a size must not be negative"},
        BadCsv{"Beyond", kHeader + "a,0,1,9223372036854775808\n", "here.csv:2:7: '9223372036854775808' is beyond 64"},
        BadCsv{"Sum", kHeader + "a,0,1,9223372036854775807\nb,2,3,1\n", "here.csv:3:7: the sizes so far sum to 2^63"},
        BadCsv{"IdTwice", kHeader + "a,0,1,1\n\na,2,3,1\n", "here.csv:4:1: id 'a' is in line 2 already"}),
    [](const auto& test) { return test.param.name; });

// Bytes changed, doubled and dropped at random: a problem or an error that says where, never anything else.
TEST(AllocationFile, SurvivesRandomChanges) {
  const std::string whole = kHeader + "a,0,10,4096\r\nb,5,20,100\n\nc,-9223372036854775808,9223372036854775807,0\n";
  constexpr std::string_view kBytes = ",\n\r0123456789-+.abc\"\0\xff";
  int accepted = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    std::string text = whole;
    for (std::uint64_t change = 0; change <= random_bits(seed, 0, 0) % 4; ++change) {
      const std::size_t at = random_bits(seed, 1, change) % text.size();
      const char byte = kBytes[random_bits(seed, 2, change) % kBytes.size()];
      switch (random_bits(seed, 3, change) % 3) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        default:
          text.erase(at, 1 + random_bits(seed, 4, change) % 8);
      }
      if (text.empty()) break;
    }
    const auto problem = parse_allocation(text, "here.csv");
    if (!problem.ok()) {
      ASSERT_EQ(problem.error().code, ErrorCode::kBadInput) << seed;
      ASSERT_THAT(problem.error().message, ::testing::StartsWith("here.csv:")) << seed;
      continue;
    }
    ++accepted;
    for (const OffsetItem& item : problem->items) ASSERT_LT(item.live.front().begin, item.live.front().end) << seed;
  }
  EXPECT_GT(accepted, 100);
}

TEST(AllocationFile, ThatIsNotThereIsAnError) {
  EXPECT_EQ(read_allocation("/no/such/file.csv").error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace sluice::memory
