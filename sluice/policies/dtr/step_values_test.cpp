// Which values of a step may be evicted, and until when what they are made of is held.
#include "sluice/policies/dtr/step_values.hpp"

#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::policies {
namespace {

using testing::add_tiny_op;
using testing::add_tiny_tensor;

const StepValue& made_by(const StepValues& step, graph::OpIndex op, std::size_t output = 0) {
  return step.values[as_index(step.first[as_index(op)].outputs[output])];
}

void set_kind(graph::Graph& graph, graph::OpKind kind) { graph.op(graph.op_count() - 1).kind = kind; }

// x is made of w, which op 2 overwrites: before its last use at op 3 in one step, behind it in the other.
TEST(StepValues, WhatIsMadeOfAnUpdatedParameterHasADeadline) {
  for (const bool update_first : {true, false}) {
    SCOPED_TRACE(update_first);
    graph::Graph graph;
    const graph::TensorId w = testing::add_tiny_tensor(graph, "w", graph::Role::kParameter, 64);
    const graph::TensorId x = testing::add_tiny_tensor(graph, "x", graph::Role::kActivation, 64);
    const graph::TensorId y = testing::add_tiny_tensor(graph, "y", graph::Role::kActivation, 64);
    const graph::TensorId loss = testing::add_tiny_tensor(graph, "loss", graph::Role::kOutput, 64);
    testing::add_tiny_op(graph, "make", {w}, {x});
    testing::add_tiny_op(graph, "next", {x}, {y});
    const auto update = [&] {
      testing::add_tiny_op(graph, "update", {w}, {w});
      set_kind(graph, graph::OpKind::kSgdUpdate);
    };
    if (update_first) update();
    testing::add_tiny_op(graph, "use", {x, y}, {loss});
    if (!update_first) update();
    const StepValues step = find_step_values(graph);
    EXPECT_EQ(made_by(step, 0).evictable, !update_first);
    EXPECT_TRUE(made_by(step, 1).evictable) << "x is there for as long as y is needed";
    EXPECT_EQ(made_by(step, 0).last_use, update_first ? 3 : 2);
    EXPECT_FALSE(made_by(step, update_first ? 3 : 2).evictable) << "the caller reads it";
    EXPECT_EQ(step.again[0].outputs.empty(), update_first);
  }
}

// The norm's result can be made again from x and the statistics of its first run, which are held for that.
TEST(StepValues, ABatchNormRunsAgainAsItsApplyPart) {
  graph::Graph graph;
  const graph::TensorId scale = testing::add_tiny_tensor(graph, "scale", graph::Role::kParameter, 64);
  const graph::TensorId running = testing::add_tiny_tensor(graph, "running", graph::Role::kBuffer, 64);
  const graph::TensorId x = testing::add_tiny_tensor(graph, "x", graph::Role::kInput, 64);
  const graph::TensorId y = testing::add_tiny_tensor(graph, "y", graph::Role::kActivation, 64);
  const graph::TensorId stats = testing::add_tiny_tensor(graph, "stats", graph::Role::kActivation, 64);
  const graph::TensorId loss = testing::add_tiny_tensor(graph, "loss", graph::Role::kOutput, 64);
  testing::add_tiny_op(graph, "input", {}, {x});
  set_kind(graph, graph::OpKind::kInput);
  testing::add_tiny_op(graph, "norm", {x, scale, running}, {y, stats, running});
  set_kind(graph, graph::OpKind::kBatchNorm);
  testing::add_tiny_op(graph, "use", {y}, {loss});
  const StepValues step = find_step_values(graph);
  EXPECT_TRUE(made_by(step, 1, 0).evictable);
  EXPECT_FALSE(made_by(step, 1, 1).evictable);
  EXPECT_EQ(made_by(step, 1, 1).last_use, 1) << "no op reads them";
  EXPECT_EQ(made_by(step, 1, 1).needed_until, 2) << "y is made of them, until the loss has read it";
  EXPECT_FALSE(made_by(step, 0).evictable) << "data come from outside";
  EXPECT_EQ(made_by(step, 0).needed_until, 2);
  ASSERT_EQ(step.kernels.graph.op_count(), 4);
  EXPECT_EQ(step.again[1].slot, 3);
  EXPECT_EQ(step.kernels.graph.op(3).kind, graph::OpKind::kBatchNormApply);
  EXPECT_EQ(step.again[1].outputs, (std::vector<ValueId>{step.first[1].outputs[0]}));
}

// The gradient of the data overwrites the gradient that came; the one of scale and shift beside it is not evicted.
TEST(StepValues, BesideWhatOverwritesNothingIsEvicted) {
  graph::Graph graph;
  const graph::TensorId w = testing::add_tiny_tensor(graph, "w", graph::Role::kParameter, 64);
  const graph::TensorId x = testing::add_tiny_tensor(graph, "x", graph::Role::kActivation, 64);
  const graph::TensorId dy = testing::add_tiny_tensor(graph, "dy", graph::Role::kActivationGradient, 64);
  const graph::TensorId dscale = testing::add_tiny_tensor(graph, "dscale", graph::Role::kGradient, 64);
  const graph::TensorId loss = testing::add_tiny_tensor(graph, "loss", graph::Role::kOutput, 64);
  testing::add_tiny_op(graph, "make", {w}, {x});
  testing::add_tiny_op(graph, "come", {x}, {dy});
  testing::add_tiny_op(graph, "norm'", {x, dy}, {dy, dscale});
  set_kind(graph, graph::OpKind::kBatchNormBackward);
  testing::add_tiny_op(graph, "use", {dy, dscale}, {loss});
  const StepValues step = find_step_values(graph);
  EXPECT_TRUE(made_by(step, 1).evictable);
  EXPECT_TRUE(made_by(step, 2, 0).evictable);
  EXPECT_FALSE(made_by(step, 2, 1).evictable);
}

TEST(StepValues, OpsThatOnlyRepeatAreLeftOut) {
  int left_out = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    const StepValues step = find_step_values(graph);
    EXPECT_EQ(step.first.size() + graph::repetitions(graph).size(), graph.ops().size());
    left_out += count_of(graph::repetitions(graph));
  }
  EXPECT_GT(left_out, 0);
}

}  // namespace
}  // namespace sluice::policies
