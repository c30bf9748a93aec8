#include "sluice/testing/covering_design.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "sluice/base/as_index.hpp"

namespace sluice::testing {
namespace {

TEST(CoveringDesignTest, HasEveryPairInFewRows) {
  const std::vector<int> levels{7, 3, 5, 2};
  const auto rows = covering_design(levels, 2);
  for (std::size_t a = 0; a < levels.size(); ++a) {
    for (std::size_t b = a + 1; b < levels.size(); ++b) {
      std::set<std::pair<int, int>> pairs;
      for (const auto& row : rows) pairs.emplace(row[a], row[b]);
      EXPECT_EQ(pairs.size(), as_index(levels[a] * levels[b])) << a << " and " << b;
    }
  }
  EXPECT_GE(rows.size(), 35U) << "7 x 5 levels";
  EXPECT_LE(rows.size(), 45U) << "of 210 in the full product";
}

TEST(CoveringDesignTest, HasEveryTripleWhereThreeAreAskedFor) {
  const auto rows = covering_design({4, 3, 3, 2}, 3);
  std::set<std::tuple<int, int, int>> first, last;
  for (const auto& row : rows) {
    first.emplace(row[0], row[1], row[2]);
    last.emplace(row[1], row[2], row[3]);
  }
  EXPECT_EQ(first.size(), 36U);
  EXPECT_EQ(last.size(), 18U);
  EXPECT_LT(rows.size(), 72U) << "of the full product";
}

TEST(CoveringDesignTest, IsTheFullProductAtFullStrengthAndTheLongestFactorAtOne) {
  EXPECT_EQ(covering_design({2, 3, 2}, 3).size(), 12U);
  EXPECT_EQ(covering_design({2, 5, 3}, 1).size(), 5U);
}

}  // namespace
}  // namespace sluice::testing
