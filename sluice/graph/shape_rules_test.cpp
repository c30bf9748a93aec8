#include "sluice/graph/shape_rules.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

using Shapes = std::vector<Shape>;

Attributes window(std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  Attributes attributes;
  attributes.kernel_h = attributes.kernel_w = kernel;
  attributes.stride = stride;
  attributes.padding = padding;
  return attributes;
}

Shapes infer(OpKind kind, const Attributes& attributes, const Shapes& inputs) {
  return infer_shapes(kind, attributes, inputs).value();
}

std::string error_of(OpKind kind, const Attributes& attributes, const Shapes& inputs) {
  const auto result = infer_shapes(kind, attributes, inputs);
  return result.ok() ? "no error" : result.error().message;
}

TEST(ShapeRules, ConvolutionCountsItsWindows) {
  const Shapes inputs = {{2, 3, 224, 224}, {64, 3, 7, 7}, {64}};
  EXPECT_EQ(infer(OpKind::kConv2d, window(7, 2, 3), inputs), (Shapes{{2, 64, 112, 112}}));
  EXPECT_EQ(infer(OpKind::kConv2d, window(3, 2, 1), {{1, 8, 7, 9}, {4, 8, 3, 3}}), (Shapes{{1, 4, 4, 5}}));
}

TEST(ShapeRules, BatchNormMakesAMaskOnlyWithRelu) {
  Attributes attributes;
  const Shapes inputs = {{2, 8, 4, 4}, {2, 8}, {2, 8}};
  EXPECT_EQ(infer(OpKind::kBatchNorm, attributes, inputs), (Shapes{{2, 8, 4, 4}, {2, 8}, {2, 8}}));
  attributes.relu = true;
  EXPECT_EQ(infer(OpKind::kBatchNorm, attributes, inputs), (Shapes{{2, 8, 4, 4}, {2, 8}, {2, 8}, {2, 8, 4, 4}}));
}

TEST(ShapeRules, PoolingKeepsChannels) {
  EXPECT_EQ(infer(OpKind::kMaxPool, window(3, 2, 1), {{2, 64, 112, 112}}), (Shapes{{2, 64, 56, 56}, {2, 64, 56, 56}}));
  EXPECT_EQ(infer(OpKind::kAvgPool, window(7, 1, 0), {{2, 64, 7, 7}}), (Shapes{{2, 64, 1, 1}}));
}

TEST(ShapeRules, DenseReadsAnImageAsOneRow) {
  EXPECT_EQ(infer(OpKind::kDense, {}, {{2, 3, 4, 5}, {10, 60}, {10}}), (Shapes{{2, 10}}));
  EXPECT_EQ(infer(OpKind::kDense, {}, {{2, 60}, {10, 60}}), (Shapes{{2, 10}}));
}

TEST(ShapeRules, LossIsOneNumber) {
  EXPECT_EQ(infer(OpKind::kSoftmaxCrossEntropy, {}, {{4, 10}, {4}}), (Shapes{{1}, {4, 10}}));
}

TEST(ShapeRules, ElementwiseOpsKeepTheShape) {
  EXPECT_EQ(infer(OpKind::kRelu, {}, {{4, 10}}), (Shapes{{4, 10}}));
  EXPECT_EQ(infer(OpKind::kAdd, {}, {{4, 10}, {4, 10}}), (Shapes{{4, 10}}));
  EXPECT_EQ(infer(OpKind::kReorder, {}, {{4, 10}}), (Shapes{{4, 10}}));
  EXPECT_EQ(infer(OpKind::kSgdUpdate, {}, {{4}, {4}, {4}}), (Shapes{{4}, {4}}));
}

TEST(ShapeRules, ErrorsNameTheOpWhatItExpectsAndWhatItGot) {
  EXPECT_EQ(error_of(OpKind::kAdd, {}, {{4, 10}, {4, 11}}), "add: expects input 1 of shape [4, 10], got [4, 11]");
  EXPECT_EQ(error_of(OpKind::kConv2d, window(3, 1, 1), {{1, 8, 7, 7}, {4, 9, 3, 3}}),
            "conv2d: expects weights of shape [4, 8, 3, 3], got [4, 9, 3, 3]");
  EXPECT_EQ(error_of(OpKind::kMaxPool, window(3, 2, 0), {{1, 8, 2, 2}}),
            "max_pool: expects an image of at least 3 pixels a side for kernel 3 and padding 0, got 2");
  EXPECT_EQ(error_of(OpKind::kDense, {}, {{2, 60}, {10, 61}}),
            "dense: expects weights of shape [10, 60], got [10, 61]");
}

TEST(ShapeRules, RefusesWhatCannotBeComputed) {
  const Shapes image = {{1, 8, 7, 7}};
  EXPECT_NE(error_of(OpKind::kMaxPool, window(3, 0, 0), image), "no error");
  EXPECT_NE(error_of(OpKind::kMaxPool, window(2, 1, 2), image), "no error");
  EXPECT_NE(error_of(OpKind::kMaxPool, window(16, 1, 15), image), "no error");  // 256 pixels: no one-byte index
  EXPECT_NE(error_of(OpKind::kMaxPool, window(3, 1, 0), {{1, 8, 7}}), "no error");
  EXPECT_NE(error_of(OpKind::kRelu, {}, {{0, 3}}), "no error");
  EXPECT_NE(error_of(OpKind::kRelu, {}, {}), "no error");
  EXPECT_NE(error_of(OpKind::kSoftmaxCrossEntropy, {}, {{4, 10}, {5}}), "no error");
  EXPECT_NE(error_of(OpKind::kBatchNorm, {}, {{2, 8, 4, 4}, {2, 9}, {2, 8}}), "no error");
  EXPECT_NE(error_of(OpKind::kReluBackward, {}, {{4}, {4}}), "no error");
}

}  // namespace
}  // namespace sluice
