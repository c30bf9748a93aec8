#include "sluice/graph/fast_memory_bound.hpp"

#include <gtest/gtest.h>

namespace sluice::graph {
namespace {

TensorId add_tensor(Graph& graph, Role role, Bytes bytes) {
  Tensor tensor;
  tensor.role = role;
  tensor.bytes = bytes;
  tensor.shape = {bytes / 4};
  return graph.add_tensor(tensor);
}

void add_op(Graph& graph, std::vector<TensorId> inputs, std::vector<TensorId> outputs, LayerIndex layer) {
  Op op;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  op.layer = layer;
  graph.add_op(op);
}

// layer 0: s = f(w)   a = f(s)  |  layer 1: t = f(a)   u = f(t)   b = f(u, a)
class FastMemoryBoundTest : public ::testing::Test {
 protected:
  FastMemoryBoundTest() {
    graph_.layers = {"first", "second"};
    w_ = add_tensor(graph_, Role::kParameter, 400);
    const TensorId s = add_tensor(graph_, Role::kActivation, 1000);
    a_ = add_tensor(graph_, Role::kActivation, 600);
    const TensorId t = add_tensor(graph_, Role::kActivation, 800);
    const TensorId u = add_tensor(graph_, Role::kActivation, 300);
    const TensorId b = add_tensor(graph_, Role::kActivation, 100);
    add_tensor(graph_, Role::kParameter, 9000);  // that no op uses
    add_op(graph_, {w_}, {s}, 0);
    add_op(graph_, {s}, {a_}, 0);
    add_op(graph_, {a_}, {t}, 1);
    add_op(graph_, {t}, {u}, 1);
    add_op(graph_, {u, a_}, {b}, 1);
  }
  FastMemoryBound measure() const { return measure_bound(graph_, analyze_liveness(graph_)); }

  Graph graph_;
  TensorId w_ = 0, a_ = 0;
};

TEST_F(FastMemoryBoundTest, IsTheShortLivedPeakAndTheLargestLongLivedTensor) {
  const FastMemoryBound bound = measure();
  EXPECT_EQ(bound.short_lived_peak, 1100) << "t and u; s is larger than either, but alone";
  EXPECT_EQ(bound.short_lived_peak_op, 3);
  EXPECT_EQ(bound.largest_long_lived, a_);
  EXPECT_EQ(bound.bytes(), 1700);
}

TEST_F(FastMemoryBoundTest, PersistentTensorsAreLongLived) {
  graph_.tensor(w_).bytes = 700;
  EXPECT_EQ(measure().largest_long_lived, w_);
  EXPECT_EQ(measure().bytes(), 1800);
}

TEST(FastMemoryBound, OfNothingIsNothing) {
  const Graph graph;
  const FastMemoryBound bound = measure_bound(graph, analyze_liveness(graph));
  EXPECT_EQ(bound.largest_long_lived, -1);
  EXPECT_EQ(bound.bytes(), 0);
}

}  // namespace
}  // namespace sluice::graph
