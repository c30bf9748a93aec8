#include "sluice/graph/shapes/shape_rules.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sluice::graph {
namespace {

using Shapes = std::vector<Shape>;

ConvolutionAttributes window(std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  ConvolutionAttributes attributes;
  attributes.window = square_window(kernel, stride, padding);
  return attributes;
}

PoolAttributes pool(std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  return {.window = square_window(kernel, stride, padding)};
}

Shapes infer(OpKind kind, const Attributes& attributes, const Shapes& inputs, const Slice& slice = {}) {
  return infer_shapes(kind, attributes, inputs, slice).value();
}

std::string error_of(OpKind kind, const Attributes& attributes, const Shapes& inputs, const Slice& slice = {}) {
  const auto result = infer_shapes(kind, attributes, inputs, slice);
  return result.ok() ? "no error" : result.error().message;
}

TEST(ShapeRules, ConvolutionCountsItsWindows) {
  const Shapes inputs = {{2, 3, 224, 224}, {64, 3, 7, 7}, {64}};
  EXPECT_EQ(infer(OpKind::kConv2d, window(7, 2, 3), inputs), (Shapes{{2, 64, 112, 112}}));
  EXPECT_EQ(infer(OpKind::kConv2d, window(3, 2, 1), {{1, 8, 7, 9}, {4, 8, 3, 3}}), (Shapes{{1, 4, 4, 5}}));
  EXPECT_EQ(infer(OpKind::kConv2d, window(1, 1, 1), {{1, 8, 7, 9}, {4, 8, 1, 1}}), (Shapes{{1, 4, 9, 11}}));
}

TEST(ShapeRules, ConvolutionHasGroupsDilationAndUnevenPadding) {
  ConvolutionAttributes attributes = window(3, 1, 0);
  attributes.groups = 8;
  EXPECT_EQ(infer(OpKind::kConv2d, attributes, {{1, 8, 7, 9}, {16, 1, 3, 3}}), (Shapes{{1, 16, 5, 7}}));
  attributes.window.dilation_h = 2;  // reaches over 5 rows
  attributes.window.pad_bottom = 1;
  attributes.window.pad_left = 2;
  EXPECT_EQ(infer(OpKind::kConv2d, attributes, {{1, 8, 7, 9}, {16, 1, 3, 3}}), (Shapes{{1, 16, 4, 9}}));
}

TEST(ShapeRules, TransposedConvolutionUndoesTheShapeOfAConvolution) {
  EXPECT_EQ(infer(OpKind::kConvTranspose2d, window(4, 2, 1), {{2, 16, 8, 8}, {16, 3, 4, 4}, {3}}),
            (Shapes{{2, 3, 16, 16}}));
  EXPECT_EQ(infer(OpKind::kConvTranspose2d, window(4, 1, 0), {{2, 100, 1, 1}, {100, 8, 4, 4}}), (Shapes{{2, 8, 4, 4}}));
  ConvolutionAttributes attributes = window(3, 2, 1);
  attributes.window.pad_bottom = attributes.window.pad_right = 0;  // one more row and column at the end
  attributes.groups = 2;
  EXPECT_EQ(infer(OpKind::kConvTranspose2d, attributes, {{1, 4, 5, 5}, {4, 3, 3, 3}}), (Shapes{{1, 6, 10, 10}}));
  attributes.window.pad_bottom = -1;
  EXPECT_EQ(infer(OpKind::kConvTranspose2d, attributes, {{1, 4, 5, 5}, {4, 3, 3, 3}}), (Shapes{{1, 6, 11, 10}}));
}

TEST(ShapeRules, NormsHaveStatisticsPerChannelOrPerRow) {
  const Shapes inputs = {{2, 8, 4, 4}, {2, 8}, {2, 8}};
  EXPECT_EQ(infer(OpKind::kBatchNorm, {}, inputs), (Shapes{{2, 8, 4, 4}, {2, 8}, {2, 8}}));
  EXPECT_EQ(infer(OpKind::kBatchNorm, {}, {{2, 8, 4, 4}, {2, 8}, {2, 8}, {2, 8, 4, 4}}),
            (Shapes{{2, 8, 4, 4}, {2, 8}, {2, 8}}));
  EXPECT_EQ(infer(OpKind::kBatchNormApply, {}, inputs), (Shapes{{2, 8, 4, 4}}));
  EXPECT_EQ(infer(OpKind::kLayerNorm, {}, {{2, 5, 8}, {2, 8}}), (Shapes{{2, 5, 8}, {2, 10}}));
  ResponseNormAttributes attributes;
  attributes.channels = 5;
  EXPECT_EQ(infer(OpKind::kLocalResponseNorm, attributes, {{2, 8, 4, 4}}), (Shapes{{2, 8, 4, 4}}));
}

TEST(ShapeRules, PartsOfBatchNormsSeeSomeSamples) {
  const Shape x = {2, 8, 4, 4};
  const Shape stats = {2, 8};
  const NormAttributes batch{.channel_elements = 64};  // four samples
  EXPECT_EQ(infer(OpKind::kBatchNormStatistics, {}, {x}), Shapes{stats});
  EXPECT_EQ(infer(OpKind::kBatchNormMerge, batch, {stats, stats, stats}), (Shapes{stats, stats}));
  EXPECT_EQ(infer(OpKind::kBatchNormBackwardSums, {}, {x, x, stats, stats}), Shapes{stats});
  EXPECT_EQ(infer(OpKind::kBatchNormBackwardApply, batch, {x, x, stats, stats, stats}), Shapes{x});
}

TEST(ShapeRules, RefusesPartsThatMakeNoBatchNorm) {
  const Shape x = {2, 8, 4, 4};
  const Shape stats = {2, 8};
  EXPECT_NE(error_of(OpKind::kBatchNormStatistics, {}, {{2, 8}}), "no error");
  EXPECT_NE(error_of(OpKind::kBatchNormStatistics, {}, {x, stats}), "no error");
  EXPECT_NE(error_of(OpKind::kBatchNormMerge, NormAttributes{.channel_elements = 64}, {stats}), "no error")
      << "no running statistics";
  EXPECT_NE(error_of(OpKind::kBatchNormMerge, NormAttributes{.channel_elements = 64}, {}), "no error");
  EXPECT_NE(error_of(OpKind::kBatchNormMerge, NormAttributes{.channel_elements = 64}, {{3, 8}, {3, 8}}), "no error");
  EXPECT_NE(error_of(OpKind::kBatchNormMerge, NormAttributes{.channel_elements = 64}, {stats, {2, 9}}), "no error");
  EXPECT_EQ(error_of(OpKind::kBatchNormMerge, NormAttributes{.channel_elements = 64}, {stats, stats, stats, stats}),
            "batch_norm_merge: expects a size that is a multiple of 3, got 64");
  EXPECT_NE(error_of(OpKind::kBatchNormMerge, {}, {stats, stats}), "no error") << "no size";
  EXPECT_NE(error_of(OpKind::kBatchNormBackwardSums, {}, {x, {2, 8, 4, 5}, stats, stats}), "no error");
  EXPECT_NE(error_of(OpKind::kBatchNormBackwardSums, {}, {x, x, stats, {2, 9}}), "no error");
  EXPECT_NE(error_of(OpKind::kBatchNormBackwardApply, NormAttributes{.channel_elements = 64}, {x, x, stats, stats}),
            "no error");
  EXPECT_NE(
      error_of(OpKind::kBatchNormBackwardApply, NormAttributes{.channel_elements = 48}, {x, x, stats, stats, stats}),
      "no error");
}

TEST(ShapeRules, PoolingKeepsChannels) {
  EXPECT_EQ(infer(OpKind::kMaxPool, pool(3, 2, 1), {{2, 64, 112, 112}}), (Shapes{{2, 64, 56, 56}, {2, 64, 56, 56}}));
  EXPECT_EQ(infer(OpKind::kAvgPool, pool(7, 1, 0), {{2, 64, 7, 7}}), (Shapes{{2, 64, 1, 1}}));
}

TEST(ShapeRules, ElementwiseOpsKeepTheShape) {
  EXPECT_EQ(infer(OpKind::kRelu, {}, {{4, 10}}), (Shapes{{4, 10}}));
  EXPECT_EQ(infer(OpKind::kUnary, {}, {{4, 10}}), (Shapes{{4, 10}}));
  EXPECT_EQ(infer(OpKind::kDropout, {}, {{4, 10}}), (Shapes{{4, 10}}));
  EXPECT_EQ(infer(OpKind::kCast, {}, {{4, 10}}), (Shapes{{4, 10}}));
  EXPECT_EQ(infer(OpKind::kAdd, {}, {{4, 10}, {4, 10}}), (Shapes{{4, 10}}));
  EXPECT_EQ(infer(OpKind::kReorder, {}, {{4, 10}}), (Shapes{{4, 10}}));
  EXPECT_EQ(infer(OpKind::kSgdUpdate, {}, {{4}, {4}, {4}}), (Shapes{{4}, {4}}));
  EXPECT_EQ(infer(OpKind::kAdamUpdate, {}, {{4}, {4}, {4}, {4}}), (Shapes{{4}, {4}, {4}}));
}

TEST(ShapeRules, ALossIsOneNumber) {
  EXPECT_EQ(infer(OpKind::kSoftmaxCrossEntropy, {}, {{4, 10}, {4}}), (Shapes{{1}, {4, 10}}));
  EXPECT_EQ(infer(OpKind::kSoftmaxCrossEntropy, {}, {{4, 7, 10}, {4, 7}}), (Shapes{{1}, {4, 7, 10}}));
  EXPECT_EQ(infer(OpKind::kSigmoidCrossEntropy, {}, {{4, 1}}), (Shapes{{1}}));
}

TEST(ShapeRules, ASliceOfALossHasAllLabels) {
  const Slice slice{.begin = 4, .end = 9};
  EXPECT_EQ(infer(OpKind::kSoftmaxCrossEntropy, {}, {{5, 10}, {2, 6}}, slice), (Shapes{{1}, {5, 10}}));
  EXPECT_EQ(error_of(OpKind::kSoftmaxCrossEntropy, {}, {{4, 10}, {2, 6}}, slice),
            "softmax_cross_entropy: logits [4, 10] are not those of labels 4:9 of [2, 6]");
  EXPECT_NE(error_of(OpKind::kSoftmaxCrossEntropy, {}, {{5, 10}, {2, 4}}, slice), "no error") << "too few labels";
  EXPECT_NE(error_of(OpKind::kSoftmaxCrossEntropy, {}, {{5, 10}, {2, 6}}, {.begin = -1, .end = 4}), "no error");
}

TEST(ShapeRules, AttributesOfAnotherKindOfOpAreRefused) {
  EXPECT_EQ(error_of(OpKind::kAdd, SoftmaxAttributes{}, {{4}, {4}}), "add: has the attributes of another kind of op");
  EXPECT_EQ(infer(OpKind::kAdd, AddAttributes{}, {{4}, {4}}), infer(OpKind::kAdd, {}, {{4}, {4}}));
}

TEST(ShapeRules, ErrorsNameTheOpWhatItExpectsAndWhatItGot) {
  EXPECT_EQ(error_of(OpKind::kAdd, {}, {{4, 10}, {4, 11}}), "add: expects input 1 of shape [4, 10], got [4, 11]");
  EXPECT_EQ(error_of(OpKind::kConv2d, window(3, 1, 1), {{1, 8, 7, 7}, {4, 9, 3, 3}}),
            "conv2d: expects weights of shape [4, 8, 3, 3], got [4, 9, 3, 3]");
  EXPECT_EQ(error_of(OpKind::kMaxPool, pool(3, 2, 0), {{1, 8, 2, 2}}),
            "max_pool: expects an image of at least 3 pixels a side for kernel 3 and padding 0, got 2");
  EXPECT_EQ(error_of(OpKind::kDense, {}, {{2, 60}, {10, 61}}),
            "dense: expects an input with rows of 61 elements for weights [10, 61], got [2, 60]");
}

TEST(ShapeRules, RefusesWhatCannotBeComputed) {
  const Shapes image = {{1, 8, 7, 7}};
  EXPECT_NE(error_of(OpKind::kMaxPool, pool(3, 0, 0), image), "no error");
  EXPECT_NE(error_of(OpKind::kMaxPool, pool(2, 1, 2), image), "no error");
  EXPECT_NE(error_of(OpKind::kMaxPool, pool(16, 1, 15), image), "no error");  // 256 pixels: no one-byte index
  EXPECT_NE(error_of(OpKind::kMaxPool, pool(3, 1, 0), {{1, 8, 7}}), "no error");
  EXPECT_NE(error_of(OpKind::kRelu, {}, {{0, 3}}), "no error");
  EXPECT_NE(error_of(OpKind::kRelu, {}, {}), "no error");
  EXPECT_NE(error_of(OpKind::kConcat, {}, {}), "no error");
  EXPECT_NE(error_of(OpKind::kSoftmaxCrossEntropy, {}, {{4, 10}, {5}}), "no error");
  EXPECT_NE(error_of(OpKind::kSoftmaxCrossEntropy, {}, {{10}, {}}), "no error");
  EXPECT_NE(error_of(OpKind::kBatchNorm, {}, {{2, 8, 4, 4}, {2, 9}, {2, 8}}), "no error");
  EXPECT_NE(error_of(OpKind::kBatchNorm, {}, {{2, 8, 4, 4}, {2, 8}, {2, 8}, {2, 8, 4, 5}}), "no error");
  EXPECT_NE(error_of(OpKind::kLayerNorm, {}, {{2, 5, 8}, {2, 5}}), "no error");
  EXPECT_NE(error_of(OpKind::kLocalResponseNorm, {}, image), "no error") << "no size";
  EXPECT_NE(error_of(OpKind::kReluBackward, {}, {{4}, {5}}), "no error");
  EXPECT_NE(error_of(OpKind::kMaxPoolBackward, {}, {{4}, {4}}), "no error") << "only its forward op has a rule";
  ConvolutionAttributes attributes = window(3, 1, 0);
  attributes.groups = 3;
  EXPECT_NE(error_of(OpKind::kConv2d, attributes, {{1, 8, 7, 7}, {6, 2, 3, 3}}), "no error");
  attributes.groups = 0;
  EXPECT_NE(error_of(OpKind::kConv2d, attributes, {{1, 8, 7, 7}, {6, 8, 3, 3}}), "no error");
  EXPECT_NE(error_of(OpKind::kConv2d, window(3, 1, 0), {{1, 8, 7, 7}, {6}}), "no error");
  EXPECT_NE(error_of(OpKind::kConvTranspose2d, window(3, 1, 5), {{1, 8, 3, 3}, {8, 2, 3, 3}}), "no error");
  EXPECT_NE(error_of(OpKind::kDropout, DropoutAttributes{.rate = 1}, image), "no error");
}

}  // namespace
}  // namespace sluice::graph
