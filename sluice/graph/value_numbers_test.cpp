// Which ops make again what another has made, and which only look like it.
#include "sluice/graph/value_numbers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/testing/random/random_graph.hpp"

namespace sluice::graph {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Builds ops that each write new tensors.
class Sketch {
 public:
  TensorId tensor(Role role = Role::kActivation) {
    return graph.add_tensor({.name = std::to_string(graph.tensor_count()), .shape = {4}, .role = role});
  }

  std::vector<TensorId> emit(OpKind kind, std::vector<TensorId> inputs, std::size_t outputs = 1) {
    Op op{.name = std::to_string(graph.op_count()), .kind = kind, .inputs = std::move(inputs)};
    for (std::size_t i = 0; i < outputs; ++i) op.outputs.push_back(tensor());
    const std::vector<TensorId> made = op.outputs;
    graph.add_op(std::move(op));
    return made;
  }

  TensorId relu(TensorId input) { return emit(OpKind::kRelu, {input})[0]; }

  Graph graph;
};

TEST(ValueNumbers, AreEqualForOpsThatDoTheSameToTheSameValues) {
  Sketch sketch;
  const TensorId x = sketch.tensor(Role::kInput);
  const TensorId a = sketch.relu(x), again = sketch.relu(x);
  sketch.relu(a);
  sketch.relu(again);  // of equal values, so it repeats the one before
  const ValueNumbers values = number_values(sketch.graph);
  EXPECT_EQ(values.repeats[0], std::nullopt);
  EXPECT_EQ(values.repeats[1], 0);
  EXPECT_EQ(values.repeats[3], 2);
  EXPECT_EQ(values.reads[2], values.reads[3]);
  EXPECT_EQ(values.writes[1], values.writes[0]);
  EXPECT_EQ(values.reads[0][0], (ValueNumber{kBeforeTheStep, as_index(x)}));
  EXPECT_EQ(first_tensors(sketch.graph, values)[as_index(again)], a);
  EXPECT_THAT(repetitions(sketch.graph), SizeIs(2));
}

TEST(ValueNumbers, ChangeWithWhatIsOverwritten) {
  Sketch sketch;
  const TensorId x = sketch.tensor(Role::kInput);
  sketch.relu(x);
  sketch.graph.add_op({.name = "anew", .kind = OpKind::kUnary, .inputs = {sketch.tensor()}, .outputs = {x}});
  sketch.relu(x);
  const ValueNumbers values = number_values(sketch.graph);
  EXPECT_EQ(values.repeats[2], std::nullopt);
  EXPECT_EQ(values.reads[2][0], (ValueNumber{1, 0}));
  EXPECT_EQ(values.at_end[as_index(x)], (ValueNumber{1, 0}));
}

// A value made again that is overwritten later stands for nothing: its tensor holds two values in turn.
TEST(ValueNumbers, ATensorWrittenTwiceStandsForNothing) {
  for (const bool of_first : {true, false}) {
    SCOPED_TRACE(of_first);
    Sketch sketch;
    const TensorId x = sketch.tensor(Role::kInput);
    const TensorId a = sketch.relu(x), again = sketch.relu(x);
    sketch.graph.add_op({.name = "over", .kind = OpKind::kUnary, .inputs = {x}, .outputs = {of_first ? a : again}});
    EXPECT_EQ(number_values(sketch.graph).repeats[1], 0);
    EXPECT_THAT(repetitions(sketch.graph), IsEmpty());
  }
}

TEST(ValueNumbers, WhatOutlivesTheStepIsMade) {
  for (const Role role : {Role::kParameter, Role::kOutput}) {
    Sketch sketch;
    const TensorId x = sketch.tensor(Role::kInput);
    sketch.relu(x);
    sketch.graph.tensor(sketch.relu(x)).role = role;
    EXPECT_THAT(repetitions(sketch.graph), IsEmpty());
  }
}

TEST(ValueNumbers, OpsThatRunOnceOrOverwriteWhatTheyReadRepeatNothing) {
  Sketch sketch;
  const TensorId x = sketch.tensor(Role::kInput), weight = sketch.tensor(Role::kParameter);
  for (int i = 0; i < 2; ++i) {
    sketch.graph.add_op({.name = "sgd", .kind = OpKind::kSgdUpdate, .inputs = {weight, x}, .outputs = {weight}});
    sketch.graph.add_op({.name = "into", .kind = OpKind::kAdd, .inputs = {x, weight}, .outputs = {x}});
  }
  const ValueNumbers values = number_values(sketch.graph);
  EXPECT_THAT(values.repeats, ::testing::Each(std::optional<OpIndex>()));
}

TEST(ValueNumbers, AnOpThatMakesMoreOrOtherThingsRepeatsNothing) {
  const auto repeats = [](auto change) {
    Sketch sketch;
    const TensorId x = sketch.tensor(Role::kInput);
    sketch.emit(OpKind::kMaxPool, {x}, 2);
    sketch.emit(OpKind::kMaxPool, {x}, 2);
    change(sketch.graph);
    return number_values(sketch.graph).repeats[1].has_value();
  };
  EXPECT_TRUE(repeats([](Graph&) {}));
  EXPECT_FALSE(repeats([](Graph& graph) { graph.op(1).outputs.pop_back(); })) << "fewer outputs";
  EXPECT_FALSE(repeats([](Graph& graph) { graph.op(0).outputs.pop_back(); })) << "more outputs";
  EXPECT_TRUE(repeats([](Graph& graph) {
    graph.op(0).outputs.pop_back();
    graph.tensor(graph.op(1).outputs[1]).role = Role::kWorkspace;
  })) << "a workspace is no value";
  EXPECT_FALSE(repeats([](Graph& graph) { graph.op(1).as<PoolAttributes>().count_padding = true; }));
  EXPECT_FALSE(repeats([](Graph& graph) { graph.op(1).views = "as 2x2"; }));
  EXPECT_FALSE(repeats([](Graph& graph) { graph.tensor(graph.op(1).outputs[0]).layout = "blocked"; }));
  EXPECT_FALSE(repeats([](Graph& graph) { graph.op(1).kind = OpKind::kRelu; }));
}

// Kernels may round differently, and so may processors.
TEST(ValueNumbers, WhatRunsOtherwiseRepeatsNothing) {
  const auto repeats = [](auto change) {
    Sketch sketch;
    const TensorId x = sketch.tensor(Role::kInput);
    sketch.relu(x);
    sketch.relu(x);
    for (OpIndex op = 0; op < 2; ++op) sketch.graph.op(op).implementations = {{"direct"}};
    change(sketch.graph);
    return number_values(sketch.graph).repeats[1].has_value();
  };
  EXPECT_TRUE(repeats([](Graph&) {}));
  EXPECT_TRUE(repeats([](Graph& graph) { graph.op(0).processor = graph.op(1).processor = 1; }));
  EXPECT_FALSE(repeats([](Graph& graph) { graph.op(1).processor = 1; }));
  EXPECT_FALSE(repeats([](Graph& graph) { graph.op(1).implementations = {{"winograd"}}; }));
  EXPECT_FALSE(repeats([](Graph& graph) {
    for (OpIndex op = 0; op < 2; ++op) graph.op(op).implementations = {{"direct"}, {"winograd"}};
  })) << "a plan may still choose";
}

// What is equal in value is reported so by whoever computes it: a random graph's repetitions are equal ops.
TEST(ValueNumbers, EveryRepetitionIsOfAnEarlierOpOfItsKind) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = testing::random_graph(seed);
    for (const auto& [op, of] : repetitions(graph)) {
      ++found;
      ASSERT_LT(of, op);
      ASSERT_TRUE(may_repeat(graph.op(op).kind));
      ASSERT_EQ(repeated_form(graph.op(of)).kind, graph.op(op).kind);
    }
  }
  EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace sluice::graph
