#include "sluice/base/id_vector.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>

namespace sluice {
namespace {

using SeatId = std::int32_t;

TEST(IdVector, IsIndexedByIdsAndPositions) {
  IdVector<SeatId, std::string> names(3, "free");
  const SeatId last = 2;
  names[last] = "taken";
  names[std::size_t{0}] = "mine";
  EXPECT_EQ(names, (std::vector<std::string>{"mine", "free", "taken"}));
  const auto& fixed = names;
  EXPECT_EQ(fixed[last], "taken");
  EXPECT_EQ(fixed.at(last), "taken");
  EXPECT_THROW((void)fixed.at(-1), std::out_of_range);
  EXPECT_THROW((void)fixed.at(3), std::out_of_range);
}

TEST(IdVector, HoldsFlags) {
  IdVector<SeatId, bool> taken(2, false);
  taken[SeatId{1}] = true;
  EXPECT_FALSE(taken[SeatId{0}]);
  EXPECT_TRUE(taken[SeatId{1}]);
}

TEST(IdVector, KnowsWhichIdsItHolds) {
  const IdVector<SeatId, int> rows = std::vector<int>{5, 6, 7};
  EXPECT_TRUE(rows.holds(0));
  EXPECT_TRUE(rows.holds(2));
  EXPECT_FALSE(rows.holds(3));
  EXPECT_FALSE(rows.holds(-1));
}

TEST(IdVector, GoesWhereAVectorIsAskedFor) {
  const auto total = [](const std::vector<int>& values) { return std::accumulate(values.begin(), values.end(), 0); };
  EXPECT_EQ(total(IdVector<SeatId, int>{1, 2, 3}), 6);
}

TEST(IdVector, ChecksIndicesUnderTheAddressSanitizer) {
  if (!kChecksIndices) GTEST_SKIP() << "a release does not check";
  IdVector<SeatId, int> rows(3, 0);
  EXPECT_THROW((void)rows[SeatId{3}], std::logic_error);
  EXPECT_THROW((void)rows[SeatId{-1}], std::logic_error);
  EXPECT_THROW((void)rows[std::size_t{3}], std::logic_error);
}

}  // namespace
}  // namespace sluice
