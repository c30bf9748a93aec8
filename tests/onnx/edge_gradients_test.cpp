// Gradients at the edges of functions, where PyTorch's are 0: the rule of the chain would multiply 0 by infinity.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/onnx/forward_run.hpp"
#include "tests/onnx/node_gradients.hpp"

namespace sluice::tests {
namespace {

bool all_finite(const Values& values) {
  return !values.empty() && std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

TEST(EdgeGradients, OfASideThatIsNotChosen) {
  ModelMaker maker;
  maker.weights("x", {4}, {-1, -3, 2, 4});
  maker.number("zero", 0);
  maker.node("Greater", {"x", "zero"}, {"is_above"});
  maker.node("Log", {"x"}, {"log"});
  maker.node("Where", {"is_above", "log", "zero"}, {"y"});
  maker.output("y");
  const Values gradient = gradient_of_weight(maker.write(), "x");
  ASSERT_TRUE(all_finite(gradient));
  EXPECT_EQ(gradient[0], 0);
  EXPECT_EQ(gradient[1], 0);
  EXPECT_GT(gradient[2], 0);
}

TEST(EdgeGradients, OfBothSidesSummedOverWhatWasRepeated) {
  ModelMaker maker;
  maker.weights("a", {2}, {0.5F, -0.5F});
  maker.weights("b", {3, 1}, {0.1F, 0.2F, 0.3F});
  maker.integers("condition", {1, 0});
  maker.node("Where", {"condition", "a", "b"}, {"y"});
  maker.output("y");
  const Values y = {0.5F, 0.1F, 0.5F, 0.2F, 0.5F, 0.3F};
  float sum = 0;
  for (const float value : y) sum += std::exp(value);
  const auto share = [&](std::size_t i) { return std::exp(y[i]) / sum - (i == 0 ? 1.0F : 0.0F); };
  const Values a = gradient_of_weight(maker.write(), "a");
  const Values b = gradient_of_weight(maker.write(), "b");
  ASSERT_EQ(a.size(), 2U);
  ASSERT_EQ(b.size(), 3U);
  EXPECT_NEAR(a[0], share(0) + share(2) + share(4), 1e-6);
  EXPECT_EQ(a[1], 0);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(b[i], share(2 * i + 1), 1e-6);
}

TEST(EdgeGradients, OfTheLengthOfARowOfZeros) {
  ModelMaker maker(13);
  maker.weights("x", {2, 2}, {0, 0, 3, 4});
  set(maker.node("ReduceL2", {"x"}, {"y"}), "axes", std::vector<std::int64_t>{1});
  maker.output("y");
  const Values gradient = gradient_of_weight(maker.write(), "x");
  ASSERT_TRUE(all_finite(gradient));
  EXPECT_EQ(gradient[0], 0);
  EXPECT_EQ(gradient[1], 0);
  EXPECT_NEAR(gradient[3] / gradient[2], 4.0 / 3, 1e-5);
}

TEST(EdgeGradients, OfLengthsThatDivideOrPool) {
  for (const char* op : {"LpNormalization", "LpPool", "GlobalLpPool", "MeanVarianceNormalization"}) {
    SCOPED_TRACE(op);
    ModelMaker maker(13);
    maker.weights("x", {1, 2, 2, 4}, {0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0});
    ::onnx::NodeProto& node = maker.node(op, {"x"}, {"y"});
    if (std::string(op) == "LpPool") set(node, "kernel_shape", std::vector<std::int64_t>{1, 4});
    maker.output("y");
    const Values gradient = gradient_of_weight(maker.write(), "x");
    ASSERT_TRUE(all_finite(gradient));
    EXPECT_NEAR(gradient[12], 0, 1e-6);
  }
}

TEST(EdgeGradients, ARowOfZerosStaysOne) {
  ModelMaker maker;
  maker.input("x", {2, 2});
  maker.node("LpNormalization", {"x"}, {"y"});
  maker.output("y");
  EXPECT_THAT(output_of(maker, numbers({2, 2}, {0, 0, 3, 4})), ::testing::ElementsAre(0, 0, 0.6F, 0.8F));
}

TEST(EdgeGradients, OfPowersOf0AndTo0) {
  ModelMaker maker;
  maker.weights("a", {4}, {0, 0, -2, 2});
  maker.weights("b", {4}, {0, 2, 2, 3});
  maker.node("Pow", {"a", "b"}, {"y"});
  maker.output("y");
  const Values to_base = gradient_of_weight(maker.write(), "a");
  const Values to_exponent = gradient_of_weight(maker.write(), "b");
  ASSERT_TRUE(all_finite(to_base));
  ASSERT_TRUE(all_finite(to_exponent));
  EXPECT_EQ(to_base[0], 0);
  EXPECT_EQ(to_base[1], 0);
  EXPECT_NE(to_base[2], 0);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(to_exponent[i], 0) << i;
  EXPECT_NE(to_exponent[3], 0);
}

TEST(EdgeGradients, OfTheNumber0AsAnExponent) {
  ModelMaker maker;
  maker.weights("x", {3}, {0, 1, 2});
  maker.number("exponent", 0);
  maker.node("Pow", {"x", "exponent"}, {"one"});
  maker.node("Add", {"x", "one"}, {"y"});
  maker.output("y");
  EXPECT_TRUE(all_finite(gradient_of_weight(maker.write(), "x")));
}

}  // namespace
}  // namespace sluice::tests
