#include "sluice/graph/access_pattern.hpp"

#include <gtest/gtest.h>

namespace sluice::graph {
namespace {

TensorId add(Graph& graph, Shape shape) {
  Tensor tensor;
  tensor.shape = std::move(shape);
  return graph.add_tensor(tensor);
}

TEST(AccessPattern, MostOperandsAreSweptOnceAndWhole) {
  Graph graph;
  Op op;
  op.kind = OpKind::kAdd;
  op.inputs = {add(graph, {100}), add(graph, {100})};
  op.outputs = {add(graph, {100})};
  for (const TensorId id : {0, 1, 2}) {
    EXPECT_EQ(access_pattern(graph, op, id), (AccessPattern{.touched = graph.tensor(id).bytes}));
  }
}

TEST(AccessPattern, BatchNormsComeBackToTheirInput) {
  Graph graph;
  Op op;
  op.kind = OpKind::kBatchNorm;
  op.inputs = {add(graph, {100})};
  op.outputs = {add(graph, {100})};
  EXPECT_EQ(access_pattern(graph, op, 0).sweeps, 3);
  EXPECT_EQ(access_pattern(graph, op, 1).sweeps, 1);
}

TEST(AccessPattern, LookingUpTouchesRowsInNoOrder) {
  Graph graph;
  Op op;
  op.kind = OpKind::kEmbedding;
  op.inputs = {add(graph, {2, 5}), add(graph, {1000, 16})};
  op.outputs = {add(graph, {2, 5, 16})};
  EXPECT_EQ(access_pattern(graph, op, 1), (AccessPattern{.touched = 10 * 16 * 4, .scattered = 10}));
  EXPECT_EQ(access_pattern(graph, op, 2), (AccessPattern{.touched = 10 * 16 * 4}));
  op.kind = OpKind::kEmbeddingBackward;
  op.inputs = {0, 2};
  op.outputs = {1};
  EXPECT_EQ(access_pattern(graph, op, 1), (AccessPattern{.touched = 1000 * 16 * 4, .scattered = 10}));
  op.slice.accumulate = true;
  EXPECT_EQ(access_pattern(graph, op, 1), (AccessPattern{.touched = 10 * 16 * 4, .scattered = 10}));
}

TEST(AccessPattern, ASliceReadsNoMoreThanItWrites) {
  Graph graph;
  Op op;
  op.kind = OpKind::kSlice;
  op.inputs = {add(graph, {100})};
  op.outputs = {add(graph, {10})};
  EXPECT_EQ(access_pattern(graph, op, 0).touched, 40);
}

}  // namespace
}  // namespace sluice::graph
