#include "sluice/onnx/convert/weight_expression.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace sluice::onnx {
namespace {

using ::testing::ElementsAre;
using WeightKind = WeightExpression::Kind;

// Initializers whose element i is i (plus 100 for "b").
Status read_ramp(const std::string& name, std::int64_t first, std::span<float> values) {
  std::iota(values.begin(), values.end(), static_cast<float>(first + (name == "b" ? 100 : 0)));
  return {};
}

std::vector<float> value(const Weights& weights) {
  std::vector<float> values(static_cast<std::size_t>(graph::element_count(weights->shape)));
  EXPECT_TRUE(evaluate_weights(*weights, read_ramp, 0, values).ok());
  return values;
}

TEST(WeightExpression, PiecesThatFitTogetherAreTheWhole) {
  const Weights w = initializer_weights("w", {6, 2});
  const Weights joined =
      joined_weights({sliced_weights(w, 0, 0, 2), sliced_weights(w, 0, 2, 3), sliced_weights(w, 0, 3, 6)}, 0);
  EXPECT_EQ(joined->text(), "w");
  const Weights swapped = joined_weights({sliced_weights(w, 0, 3, 6), sliced_weights(w, 0, 0, 3)}, 0);
  EXPECT_EQ(swapped->kind, WeightKind::kConcat);
  const Weights back = joined_weights({sliced_weights(swapped, 0, 3, 6), sliced_weights(swapped, 0, 0, 3)}, 0);
  EXPECT_EQ(back->text(), "w");
}

TEST(WeightExpression, TwoTranspositionsCancel) {
  const Weights w = initializer_weights("w", {2, 3, 4});
  const Weights turned = transposed_weights(w, {2, 0, 1});
  EXPECT_EQ(turned->shape, (graph::Shape{4, 2, 3}));
  EXPECT_EQ(transposed_weights(turned, {1, 2, 0})->text(), "w");
  EXPECT_EQ(reshaped_weights(reshaped_weights(w, {24}), {2, 3, 4})->text(), "w");
}

TEST(WeightExpression, ComputesValues) {
  const Weights w = initializer_weights("w", {2, 3});
  const Weights b = initializer_weights("b", {2, 3});
  EXPECT_THAT(value(transposed_weights(w, {1, 0})), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(value(sliced_weights(w, 1, 1, 3)), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(value(joined_weights({w, b}, 1)), ElementsAre(0, 1, 2, 100, 101, 102, 3, 4, 5, 103, 104, 105));
}

TEST(WeightExpression, ReadsPartsAndRefusesMoreThanThereIs) {
  const Weights turned = transposed_weights(initializer_weights("w", {2, 3}), {1, 0});
  std::vector<float> part(2);
  ASSERT_TRUE(evaluate_weights(*turned, read_ramp, 3, part).ok());
  EXPECT_THAT(part, ElementsAre(4, 2));
  EXPECT_FALSE(evaluate_weights(*turned, read_ramp, 5, part).ok());
}

TEST(WeightExpression, WritesBackWhatItReads) {
  const Weights w = initializer_weights("w", {4, 3});
  const Weights b = initializer_weights("b", {4, 3});
  const Weights gates = joined_weights({sliced_weights(w, 0, 2, 4), sliced_weights(w, 0, 0, 1)}, 0);
  const Weights whole =
      joined_weights({transposed_weights(gates, {1, 0}), sliced_weights(transposed_weights(b, {1, 0}), 1, 1, 2)}, 1);
  InitializerValues values;
  values["w"] = value(w);
  values["b"] = value(b);
  const InitializerValues before = values;
  write_back_weights(*whole, value(whole), values);
  EXPECT_EQ(values, before);
  std::vector<float> changed = value(whole);
  for (float& each : changed) each = -each;
  write_back_weights(*whole, changed, values);
  EXPECT_THAT(values["w"], ElementsAre(0, -1, -2, 3, 4, 5, -6, -7, -8, -9, -10, -11));
  EXPECT_THAT(values["b"], ElementsAre(100, 101, 102, -103, -104, -105, 106, 107, 108, 109, 110, 111));
}

TEST(WeightExpression, GivesUpOnTreesThatNoExporterMakes) {
  Weights w = initializer_weights("w", {1, 1});
  for (int i = 0; i < 20; ++i) w = joined_weights({transposed_weights(w, {1, 0}), transposed_weights(w, {1, 0})}, 0);
  EXPECT_EQ(w, nullptr);
}

}  // namespace
}  // namespace sluice::onnx
