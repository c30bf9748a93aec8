#include "sluice/onnx/arrays/array_ops.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sluice::onnx {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

TEST(ArrayOps, SlicesAsOnnxDoes) {
  const HostArray x = integers({0, 1, 2, 3, 4});
  EXPECT_THAT(sliced(x, 0, 1, 3, 1)->ints, ElementsAre(1, 2));
  EXPECT_THAT(sliced(x, 0, -2, kEnd, 1)->ints, ElementsAre(3, 4));
  EXPECT_THAT(sliced(x, 0, 0, kEnd, 2)->ints, ElementsAre(0, 2, 4));
  EXPECT_THAT(sliced(x, 0, -1, std::numeric_limits<std::int64_t>::min(), -1)->ints, ElementsAre(4, 3, 2, 1, 0));
  EXPECT_THAT(sliced(x, 0, 3, 0, -2)->ints, ElementsAre(3, 1));
  EXPECT_THAT(sliced(x, 0, 4, 2, 1)->ints, ElementsAre());
  EXPECT_THAT(sliced(x, 0, 0, 5, kEnd)->ints, ElementsAre(0));
  EXPECT_FALSE(sliced(x, 0, 0, 5, 0).ok());
}

TEST(ArrayOps, GathersAlongAnAxis) {
  HostArray x = integers({0, 1, 2, 3, 4, 5});
  x.shape = {2, 3};
  const auto columns = gathered(x, integers({-1, 0}), 1);
  ASSERT_TRUE(columns.ok());
  EXPECT_EQ(columns->shape, (graph::Shape{2, 2}));
  EXPECT_THAT(columns->ints, ElementsAre(2, 0, 5, 3));
  EXPECT_FALSE(gathered(x, integers({3}), 1).ok());
}

TEST(ArrayOps, JoinsAlongAnAxis) {
  HostArray a = integers({0, 1, 2, 3});
  a.shape = {2, 2};
  HostArray b = integers({8, 9});
  b.shape = {2, 1};
  EXPECT_THAT(joined({&a, &b}, 1)->ints, ElementsAre(0, 1, 8, 2, 3, 9));
  EXPECT_FALSE(joined({&a, &b}, 0).ok());
}

Result<HostArray> computed(const std::string& op, const HostArray& a, const HostArray& b) {
  return computed_elementwise(op, {&a, &b});
}

TEST(ArrayOps, BroadcastsAndDividesIntegersTowardsZero) {
  HostArray column = integers({7, -7});
  column.shape = {2, 1};
  const auto quotient = computed("Div", column, integers({2, 7}));
  ASSERT_TRUE(quotient.ok());
  EXPECT_EQ(quotient->shape, (graph::Shape{2, 2}));
  EXPECT_THAT(quotient->ints, ElementsAre(3, 1, -3, -1));
  EXPECT_FALSE(computed("Div", column, integers({0})).ok());
  EXPECT_FALSE(computed("Add", integers({1, 2}), integers({1, 2, 3})).ok());
}

TEST(ArrayOps, RefusesResultsLargerThanIsSensible) {
  HostArray column = filled(graph::Shape{1 << 13, 1}, std::int64_t{1});
  EXPECT_FALSE(computed("Add", column, filled(graph::Shape{1 << 13}, std::int64_t{1})).ok());
  EXPECT_FALSE(broadcast_to(column, {1 << 13, 1 << 12}).ok());
}

TEST(ArrayOps, CountsElementsWithinSixtyFourBits) {
  EXPECT_EQ(checked_count({2, 3, 4}), 24);
  EXPECT_EQ(checked_count({}), 1);
  EXPECT_EQ(checked_count({4, 0, 5}), 0);
  EXPECT_EQ(checked_count({std::int64_t{1} << 40}), kMostElements);
  EXPECT_FALSE(checked_count({std::int64_t{1} << 32, std::int64_t{1} << 32}));
  EXPECT_FALSE(checked_count({0, std::int64_t{1} << 62})) << "its strides are beyond 64 bits";
  EXPECT_FALSE(checked_count({2, -1}));
  EXPECT_FALSE(checked_count(graph::Shape(graph::kMostDimensions + 1, 1)));
}

}  // namespace
}  // namespace sluice::onnx
