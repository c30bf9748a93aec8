// Shape rules of the ops that rearrange tensors, and of those that read them as rows or matrices.
#include <gtest/gtest.h>

#include "sluice/graph/shapes/shape_rules.hpp"

namespace sluice::graph {
namespace {

using Shapes = std::vector<Shape>;

Shape shape_of(OpKind kind, const Attributes& attributes, const Shapes& inputs) {
  return infer_shapes(kind, attributes, inputs).value().front();
}

bool refused(OpKind kind, const Attributes& attributes, const Shapes& inputs) {
  return !infer_shapes(kind, attributes, inputs).ok();
}

PartAttributes part(std::int64_t axis, std::int64_t begin, std::int64_t end, const Shape& shape = {}) {
  PartAttributes attributes;
  attributes.axis = axis;
  attributes.begin = begin;
  attributes.end = end;
  attributes.shape = shape;
  return attributes;
}

ShapeAttributes to(Shape shape) { return {std::move(shape)}; }

TEST(ShapeRules, BinaryOpsMatchDimensionsFromTheLast) {
  EXPECT_EQ(shape_of(OpKind::kBinary, {}, {{4, 1, 3}, {5, 1}}), (Shape{4, 5, 3}));
  EXPECT_EQ(shape_of(OpKind::kBinary, {}, {{3}, {2, 4, 3}}), (Shape{2, 4, 3}));
  EXPECT_EQ(shape_of(OpKind::kBinary, {}, {{2, 3}, {}}), (Shape{2, 3}));
  EXPECT_TRUE(refused(OpKind::kBinary, {}, {{2, 3}, {2}}));
}

TEST(ShapeRules, SelectMatchesAllThreeFromTheLast) {
  EXPECT_EQ(shape_of(OpKind::kSelect, {}, {{4, 1, 1}, {3}, {5, 1}}), (Shape{4, 5, 3}));
  EXPECT_EQ(shape_of(OpKind::kSelect, {}, {{3}, {1}, {2, 3}}), (Shape{2, 3}));
  EXPECT_TRUE(refused(OpKind::kSelect, {}, {{2}, {3}, {3}}));
  EXPECT_TRUE(refused(OpKind::kSelect, {}, {{3}, {2}, {3}}));
  EXPECT_TRUE(refused(OpKind::kSelect, {}, {{3}, {3}}));
}

TEST(ShapeRules, ReducedAxesBecomeOne) {
  EXPECT_EQ(shape_of(OpKind::kReduce, ReduceAttributes{.axes = {0, 2}}, {{4, 5, 6}}), (Shape{1, 5, 1}));
  EXPECT_TRUE(refused(OpKind::kReduce, ReduceAttributes{.axes = {2, 0}}, {{4, 5, 6}}));
  EXPECT_TRUE(refused(OpKind::kReduce, ReduceAttributes{.axes = {3}}, {{4, 5, 6}}));
  EXPECT_TRUE(refused(OpKind::kReduce, ReduceAttributes{.axes = {-1}}, {{4, 5, 6}}));
}

TEST(ShapeRules, BroadcastGrowsExtentsOfOne) {
  EXPECT_EQ(shape_of(OpKind::kBroadcast, to({4, 5}), {{1, 5}}), (Shape{4, 5}));
  EXPECT_TRUE(refused(OpKind::kBroadcast, to({4, 5}), {{2, 5}}));
  EXPECT_TRUE(refused(OpKind::kBroadcast, to({4, 5}), {{5}}));
}

TEST(ShapeRules, ReshapeKeepsTheNumberOfElements) {
  EXPECT_EQ(shape_of(OpKind::kReshape, to({2, 6}), {{3, 4}}), (Shape{2, 6}));
  EXPECT_TRUE(refused(OpKind::kReshape, to({2, 5}), {{3, 4}}));
  EXPECT_TRUE(refused(OpKind::kReshape, to({-2, -6}), {{3, 4}}));
}

TEST(ShapeRules, TransposeIsAPermutation) {
  EXPECT_EQ(shape_of(OpKind::kTranspose, TransposeAttributes{{2, 0, 1}}, {{3, 4, 5}}), (Shape{5, 3, 4}));
  EXPECT_TRUE(refused(OpKind::kTranspose, TransposeAttributes{{0, 0, 1}}, {{3, 4, 5}}));
  EXPECT_TRUE(refused(OpKind::kTranspose, TransposeAttributes{{0, 1}}, {{3, 4, 5}}));
  EXPECT_TRUE(refused(OpKind::kTranspose, TransposeAttributes{{0, 1, 2, 3}}, {{3, 4, 5}}));
}

TEST(ShapeRules, ConcatAddsUpOneAxis) {
  EXPECT_EQ(shape_of(OpKind::kConcat, ConcatAttributes{.axis = 1}, {{2, 3, 4}, {2, 1, 4}, {2, 5, 4}}),
            (Shape{2, 9, 4}));
  EXPECT_TRUE(refused(OpKind::kConcat, ConcatAttributes{.axis = 1}, {{2, 3, 4}, {2, 1, 5}}));
  EXPECT_TRUE(refused(OpKind::kConcat, ConcatAttributes{.axis = 1}, {{2, 3, 4}, {2, 3}}));
  EXPECT_TRUE(refused(OpKind::kConcat, ConcatAttributes{.axis = 3}, {{2, 3, 4}}));
}

TEST(ShapeRules, SliceAndPadAreOpposites) {
  EXPECT_EQ(shape_of(OpKind::kSlice, part(1, 2, 5), {{4, 6}}), (Shape{4, 3}));
  EXPECT_EQ(shape_of(OpKind::kPad, part(1, 2, 5, {4, 6}), {{4, 3}}), (Shape{4, 6}));
  EXPECT_TRUE(refused(OpKind::kSlice, part(1, 2, 7), {{4, 6}}));
  EXPECT_TRUE(refused(OpKind::kSlice, part(1, 2, 2), {{4, 6}}));
  EXPECT_TRUE(refused(OpKind::kPad, part(1, 2, 5, {4, 6}), {{4, 2}}));
  EXPECT_TRUE(refused(OpKind::kPad, part(1, 2, 7, {4, 6}), {{4, 5}}));
  EXPECT_TRUE(refused(OpKind::kPad, part(1, 2, 5, {4, 6, 1}), {{4, 3}}));
}

TEST(ShapeRules, DenseReplacesTheShortestRowsThatFit) {
  EXPECT_EQ(shape_of(OpKind::kDense, {}, {{2, 3, 4, 5}, {10, 60}, {10}}), (Shape{2, 10}));
  EXPECT_EQ(shape_of(OpKind::kDense, {}, {{2, 3, 4, 5}, {10, 5}}), (Shape{2, 3, 4, 10}));
  EXPECT_EQ(shape_of(OpKind::kDense, {}, {{2, 60}, {10, 60}}), (Shape{2, 10}));
  EXPECT_EQ(shape_of(OpKind::kDense, {}, {{2, 60, 1, 1}, {10, 60}}), (Shape{2, 10}));
  EXPECT_EQ(shape_of(OpKind::kDense, {}, {{60}, {10, 60}}), (Shape{10}));
  EXPECT_TRUE(refused(OpKind::kDense, {}, {{2, 3, 4, 5}, {10, 6}}));
  EXPECT_TRUE(refused(OpKind::kDense, {}, {{2, 60}, {10, 60}, {9}}));
  EXPECT_TRUE(refused(OpKind::kDense, {}, {{2, 60}, {600}}));
}

TEST(ShapeRules, MatMulPermutesItsOperandsAndItsResult) {
  ProductAttributes attributes;
  EXPECT_EQ(shape_of(OpKind::kMatMul, attributes, {{7, 2, 3}, {7, 3, 5}}), (Shape{7, 2, 5}));
  EXPECT_TRUE(refused(OpKind::kMatMul, attributes, {{7, 2, 3}, {7, 5, 3}}));
  EXPECT_TRUE(refused(OpKind::kMatMul, attributes, {{7, 2, 3}, {6, 3, 5}}));
  EXPECT_TRUE(refused(OpKind::kMatMul, attributes, {{2, 3}, {7, 3, 5}}));
  EXPECT_TRUE(refused(OpKind::kMatMul, attributes, {{3}, {3}}));
  // Attention: queries and keys [B, S, heads, features] to scores [B, heads, S, S], laid out by row.
  attributes.perm_a = {0, 2, 1, 3};
  attributes.perm_b = {0, 2, 3, 1};
  EXPECT_EQ(shape_of(OpKind::kMatMul, attributes, {{2, 5, 4, 8}, {2, 7, 4, 8}}), (Shape{2, 4, 5, 7}));
  attributes.perm_y = {0, 2, 1, 3};
  EXPECT_EQ(shape_of(OpKind::kMatMul, attributes, {{2, 5, 4, 8}, {2, 7, 4, 8}}), (Shape{2, 5, 4, 7}));
  attributes.perm_y = {0, 2, 1};
  EXPECT_TRUE(refused(OpKind::kMatMul, attributes, {{2, 5, 4, 8}, {2, 7, 4, 8}}));
}

TEST(ShapeRules, EmbeddingAddsTheFeaturesAtTheEnd) {
  EXPECT_EQ(shape_of(OpKind::kEmbedding, {}, {{2, 7}, {100, 16}}), (Shape{2, 7, 16}));
  EXPECT_TRUE(refused(OpKind::kEmbedding, {}, {{2, 7}, {100}}));
}

TEST(ShapeRules, LstmCellHasAStateFromItsSecondStepOn) {
  RecurrentAttributes attributes;
  EXPECT_EQ(infer_shapes(OpKind::kLstmCell, attributes, Shapes{{2, 12}}).value(), (Shapes{{2, 3}, {2, 3}, {2, 12}}));
  EXPECT_TRUE(refused(OpKind::kLstmCell, attributes, {{2, 12}, {2, 3}, {2, 3}, {12, 3}}));
  EXPECT_TRUE(refused(OpKind::kLstmCell, attributes, {{2, 13}}));
  attributes.state = true;
  EXPECT_EQ(shape_of(OpKind::kLstmCell, attributes, {{2, 12}, {2, 3}, {2, 3}, {12, 3}}), (Shape{2, 3}));
  EXPECT_TRUE(refused(OpKind::kLstmCell, attributes, {{2, 12}}));
  EXPECT_TRUE(refused(OpKind::kLstmCell, attributes, {{2, 12}, {2, 3}, {2, 4}, {12, 3}}));
  EXPECT_TRUE(refused(OpKind::kLstmCell, attributes, {{2, 12}, {2, 3}, {2, 3}, {3, 12}}));
}

TEST(ShapeRules, CausalSoftmaxNeedsRows) {
  SoftmaxAttributes attributes;
  EXPECT_EQ(shape_of(OpKind::kSoftmax, attributes, {{7}}), (Shape{7}));
  attributes.causal = true;
  EXPECT_EQ(shape_of(OpKind::kSoftmax, attributes, {{7, 7}}), (Shape{7, 7}));
  EXPECT_TRUE(refused(OpKind::kSoftmax, attributes, {{7}}));
}

}  // namespace
}  // namespace sluice::graph
