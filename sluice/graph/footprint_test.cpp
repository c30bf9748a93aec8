#include "sluice/graph/footprint.hpp"

#include <gtest/gtest.h>

#include "sluice/graph/builder/builder.hpp"

namespace sluice::graph {
namespace {

constexpr Bytes kActivation = 2 * 8 * 4 * 4 * 4;
constexpr Bytes kScaleShift = 2 * 8 * 4;

Graph network(bool reshape) {
  GraphBuilder builder("net");
  builder.begin_layer("net");
  TensorId x = builder.inputs({{"x", Content::kNoise, {2, 8, 4, 4}, 0}})[0];
  x = builder.batch_norm(x);
  if (reshape) x = builder.reshape(x, {2, 8, 16, 1});
  x = builder.relu(x);
  builder.sigmoid_cross_entropy(x, 1);
  return *builder.finish();
}

TEST(Footprint, CountsResultsInPlaceOnce) {
  const Footprint footprint = measure_footprint(network(false));
  ASSERT_EQ(footprint.operands.size(), 4U);
  EXPECT_EQ(footprint.operands[1], 2 * kActivation + 3 * kScaleShift);  // the step's data is not overwritten
  EXPECT_EQ(footprint.operands[2], kActivation);
  EXPECT_EQ(footprint.peak, 2 * kActivation + 3 * kScaleShift);
}

TEST(Footprint, CountsViewsOnce) {
  const Footprint footprint = measure_footprint(network(true));
  ASSERT_EQ(footprint.operands.size(), 5U);
  EXPECT_EQ(footprint.operands[2], kActivation);
  EXPECT_EQ(footprint.peak, 2 * kActivation + 3 * kScaleShift);
}

}  // namespace
}  // namespace sluice::graph
