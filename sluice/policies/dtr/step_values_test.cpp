// Which values of a step may be evicted, and until when what they are made of is held.
#include "sluice/policies/dtr/step_values.hpp"

#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice {
namespace {

using testing::add_tiny_op;
using testing::add_tiny_tensor;

const StepValue& made_by(const StepValues& step, OpIndex op, std::size_t output = 0) {
  return step.values[as_index(step.first[as_index(op)].outputs[output])];
}

void set_kind(Graph& graph, OpKind kind) { graph.op(graph.op_count() - 1).kind = kind; }

// x is made of w, which op 2 overwrites: before its last use at op 3 in one step, behind it in the other.
TEST(StepValues, WhatIsMadeOfAnUpdatedParameterHasADeadline) {
  for (const bool update_first : {true, false}) {
    SCOPED_TRACE(update_first);
    Graph graph;
    const TensorId w = add_tiny_tensor(graph, "w", Role::kParameter, 64);
    const TensorId x = add_tiny_tensor(graph, "x", Role::kActivation, 64);
    const TensorId y = add_tiny_tensor(graph, "y", Role::kActivation, 64);
    const TensorId loss = add_tiny_tensor(graph, "loss", Role::kOutput, 64);
    add_tiny_op(graph, "make", {w}, {x});
    add_tiny_op(graph, "next", {x}, {y});
    const auto update = [&] {
      add_tiny_op(graph, "update", {w}, {w});
      set_kind(graph, OpKind::kSgdUpdate);
    };
    if (update_first) update();
    add_tiny_op(graph, "use", {x, y}, {loss});
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
  Graph graph;
  const TensorId scale = add_tiny_tensor(graph, "scale", Role::kParameter, 64);
  const TensorId running = add_tiny_tensor(graph, "running", Role::kBuffer, 64);
  const TensorId x = add_tiny_tensor(graph, "x", Role::kInput, 64);
  const TensorId y = add_tiny_tensor(graph, "y", Role::kActivation, 64);
  const TensorId stats = add_tiny_tensor(graph, "stats", Role::kActivation, 64);
  const TensorId loss = add_tiny_tensor(graph, "loss", Role::kOutput, 64);
  add_tiny_op(graph, "input", {}, {x});
  set_kind(graph, OpKind::kInput);
  add_tiny_op(graph, "norm", {x, scale, running}, {y, stats, running});
  set_kind(graph, OpKind::kBatchNorm);
  add_tiny_op(graph, "use", {y}, {loss});
  const StepValues step = find_step_values(graph);
  EXPECT_TRUE(made_by(step, 1, 0).evictable);
  EXPECT_FALSE(made_by(step, 1, 1).evictable);
  EXPECT_EQ(made_by(step, 1, 1).last_use, 1) << "no op reads them";
  EXPECT_EQ(made_by(step, 1, 1).needed_until, 2) << "y is made of them, until the loss has read it";
  EXPECT_FALSE(made_by(step, 0).evictable) << "data come from outside";
  EXPECT_EQ(made_by(step, 0).needed_until, 2);
  ASSERT_EQ(step.kernels.graph.op_count(), 4);
  EXPECT_EQ(step.again[1].slot, 3);
  EXPECT_EQ(step.kernels.graph.op(3).kind, OpKind::kBatchNormApply);
  EXPECT_EQ(step.again[1].outputs, (std::vector<ValueId>{step.first[1].outputs[0]}));
}

// The gradient of the data overwrites the gradient that came; the one of scale and shift beside it is not evicted.
TEST(StepValues, BesideWhatOverwritesNothingIsEvicted) {
  Graph graph;
  const TensorId w = add_tiny_tensor(graph, "w", Role::kParameter, 64);
  const TensorId x = add_tiny_tensor(graph, "x", Role::kActivation, 64);
  const TensorId dy = add_tiny_tensor(graph, "dy", Role::kActivationGradient, 64);
  const TensorId dscale = add_tiny_tensor(graph, "dscale", Role::kGradient, 64);
  const TensorId loss = add_tiny_tensor(graph, "loss", Role::kOutput, 64);
  add_tiny_op(graph, "make", {w}, {x});
  add_tiny_op(graph, "come", {x}, {dy});
  add_tiny_op(graph, "norm'", {x, dy}, {dy, dscale});
  set_kind(graph, OpKind::kBatchNormBackward);
  add_tiny_op(graph, "use", {dy, dscale}, {loss});
  const StepValues step = find_step_values(graph);
  EXPECT_TRUE(made_by(step, 1).evictable);
  EXPECT_TRUE(made_by(step, 2, 0).evictable);
  EXPECT_FALSE(made_by(step, 2, 1).evictable);
}

TEST(StepValues, OpsThatOnlyRepeatAreLeftOut) {
  int left_out = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = testing::random_graph(seed);
    const StepValues step = find_step_values(graph);
    EXPECT_EQ(step.first.size() + repetitions(graph).size(), graph.ops().size());
    left_out += static_cast<int>(repetitions(graph).size());
  }
  EXPECT_GT(left_out, 0);
}

}  // namespace
}  // namespace sluice
