#include "sluice/graph/liveness.hpp"

#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"

namespace sluice::graph {
namespace {

// layer 0 forward | layer 1 forward | layer 1 backward | layer 0 backward
//   0: a = f(w)      1: b = f(a)       3: g = f(b)        5: h = f(g, a)
//                    2: loss = f(b)    4: g = f(g, g)     6: w = f(w, h)
class LivenessTest : public testing::Test {
 protected:
  LivenessTest() {
    graph_.layers = {"first", "second"};
    w_ = add(Role::kParameter);
    a_ = add(Role::kActivation);
    b_ = add(Role::kActivation);
    loss_ = add(Role::kOutput);
    g_ = add(Role::kActivationGradient);
    h_ = add(Role::kGradient);
    unused_ = add(Role::kWorkspace);
    op({w_}, {a_}, 0, Phase::kForward);
    op({a_}, {b_}, 1, Phase::kForward);
    op({b_}, {loss_}, 1, Phase::kForward);
    op({b_}, {g_}, 1, Phase::kBackward);
    op({g_, g_}, {g_}, 1, Phase::kBackward);
    op({g_, a_}, {h_}, 0, Phase::kBackward);
    op({w_, h_}, {w_}, 0, Phase::kUpdate);
  }

  TensorId add(Role role) {
    Tensor tensor;
    tensor.shape = {1};
    tensor.role = role;
    return graph_.add_tensor(tensor);
  }

  void op(std::vector<TensorId> inputs, std::vector<TensorId> outputs, LayerIndex layer, Phase phase) {
    Op op;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.layer = layer;
    op.phase = phase;
    graph_.add_op(op);
  }

  template <typename T>
  static T of(const std::vector<T>& values, TensorId id) {
    return values[as_index(id)];
  }

  Graph graph_;
  TensorId w_, a_, b_, loss_, g_, h_, unused_;
};

TEST_F(LivenessTest, RangesRunFromFirstUseToOnePastTheLast) {
  const Liveness liveness = analyze_liveness(graph_);
  using Ops = Interval<OpIndex>;
  EXPECT_EQ(of(liveness.ranges, w_), (Ops{0, 7}));
  EXPECT_EQ(of(liveness.ranges, a_), (Ops{0, 6}));
  EXPECT_EQ(of(liveness.ranges, b_), (Ops{1, 4}));
  EXPECT_EQ(of(liveness.ranges, loss_), (Ops{2, 7}));
  EXPECT_EQ(of(liveness.ranges, g_), (Ops{3, 6}));
  EXPECT_EQ(of(liveness.ranges, h_), (Ops{5, 7}));
  EXPECT_TRUE(of(liveness.ranges, unused_).empty());
}

TEST_F(LivenessTest, UsesSayReadsAndWritesOnceAnOp) {
  const Liveness liveness = analyze_liveness(graph_);
  const std::vector<Use> uses = of(liveness.uses, g_);
  ASSERT_EQ(uses.size(), 3U);
  EXPECT_EQ(uses[0].op, 3);
  EXPECT_FALSE(uses[0].reads);
  EXPECT_TRUE(uses[0].writes);
  EXPECT_EQ(uses[1].op, 4);
  EXPECT_TRUE(uses[1].reads && uses[1].writes);
  EXPECT_EQ(uses[2].op, 5);
  EXPECT_TRUE(uses[2].reads);
  EXPECT_FALSE(uses[2].writes);
}

TEST_F(LivenessTest, SpansAreRunsOfOneLayerInOneDirection) {
  const Liveness liveness = analyze_liveness(graph_);
  ASSERT_EQ(liveness.spans.size(), 4U);
  EXPECT_EQ(liveness.spans[1].layer, 1);
  EXPECT_FALSE(liveness.spans[1].backward);
  EXPECT_TRUE(liveness.spans[2].backward);
  EXPECT_EQ(liveness.spans[3].ops, (Interval<OpIndex>{5, 7}));  // an update belongs to its layer's backward span
  EXPECT_EQ(liveness.span_of_op, (std::vector<int>{0, 1, 1, 2, 2, 3, 3}));
}

TEST_F(LivenessTest, ShortLivedMeansWithinOneSpanAndNotPersistent) {
  const Liveness liveness = analyze_liveness(graph_);
  EXPECT_TRUE(of(liveness.short_lived, h_));
  for (const TensorId id : {w_, a_, b_, loss_, g_}) EXPECT_FALSE(of(liveness.short_lived, id)) << id;
}

TEST_F(LivenessTest, LiveBytesAreSummedOverTheOpsOfARange) {
  std::vector<Bytes> bytes(graph_.tensors().size(), 0);
  bytes[as_index(w_)] = 100;
  bytes[as_index(a_)] = 10;
  bytes[as_index(b_)] = 1;
  bytes[as_index(loss_)] = 1000;
  bytes[as_index(unused_)] = 5;
  EXPECT_EQ(live_bytes(analyze_liveness(graph_), bytes), (std::vector<Bytes>{110, 111, 1111, 1111, 1110, 1110, 1100}));
}

TEST_F(LivenessTest, DistinctOperandsKeepOperandOrder) {
  EXPECT_EQ(distinct_operands(graph_.op(4)), (std::vector<TensorId>{g_}));
  EXPECT_EQ(distinct_operands(graph_.op(6)), (std::vector<TensorId>{w_, h_}));
}

}  // namespace
}  // namespace sluice::graph
