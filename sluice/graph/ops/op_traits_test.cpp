// The table's form, and what is asked of it. That each trait is true of the kernels: kernels/reference.
#include "sluice/graph/ops/op_traits.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

#include "sluice/graph/graph.hpp"

namespace sluice::graph {
namespace {

TEST(OpTraits, HaveOneLineAKind) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(kLastOpKind); ++kind) {
    const OpTraits& line = traits(static_cast<OpKind>(kind));
    EXPECT_EQ(static_cast<int>(line.kind), kind);
    EXPECT_TRUE(names.insert(line.name).second) << line.name;
    EXPECT_FALSE(line.precision.empty()) << line.name;
    EXPECT_FALSE(line.outputs.empty()) << line.name;
    EXPECT_EQ(line.inputs.empty(), line.kind == OpKind::kInput) << line.name;
  }
  EXPECT_EQ(to_string(OpKind::kConvTranspose2dBackwardWeights), "conv_transpose2d_backward_weights");
  EXPECT_EQ(to_string(OpKind::kAdamUpdate), "adam_update");
}

TEST(OpTraits, HaveALetterForEveryOperand) {
  const OperandLetters& cell = traits(OpKind::kLstmCellBackward).precision;  // hhffhf>hhf
  std::string inputs;
  for (std::size_t i = 0; i < 6; ++i) inputs += cell.input(i);
  EXPECT_EQ(inputs, "hhffhf");
  EXPECT_EQ(cell.output(0), 'h');
  EXPECT_EQ(cell.output(2), 'f');
}

TEST(OpTraits, LetTheLastLetterStandForAllThatFollow) {
  const OperandLetters& concat = traits(OpKind::kConcat).samples;
  EXPECT_EQ(concat.input(0), 'a');
  EXPECT_EQ(concat.input(7), 'a');
  EXPECT_EQ(traits(OpKind::kDense).precision.input(9), 'f');
  EXPECT_EQ(traits(OpKind::kDense).precision.output(3), 'p');
}

TEST(OpTraits, CallOptimizersUpdates) {
  std::set<OpKind> updates;
  for (int kind = 0; kind <= static_cast<int>(kLastOpKind); ++kind) {
    if (is_update(static_cast<OpKind>(kind))) updates.insert(static_cast<OpKind>(kind));
  }
  EXPECT_TRUE(updates.contains(OpKind::kSgdUpdate) && updates.contains(OpKind::kAdamUpdate));
  for (const OpKind kind : updates) EXPECT_EQ(slots_of(kind).size(), moments_of(kind)) << to_string(kind);
}

TEST(OpTraits, HaveTheNamesOfAnOptimizersState) {
  EXPECT_EQ(slots_of(OpKind::kSgdUpdate), (std::vector<std::string_view>{"momentum"}));
  EXPECT_EQ(slots_of(OpKind::kAdamUpdate), (std::vector<std::string_view>{"moment1", "moment2"}));
  EXPECT_THROW(slots_of(OpKind::kAdd), std::logic_error);
}

TEST(OpTraits, KnowLossesByWhatTheyMake) {
  EXPECT_TRUE(is_loss(OpKind::kMeanLoss));
  EXPECT_TRUE(is_loss(OpKind::kSoftmaxCrossEntropy));
  EXPECT_FALSE(is_loss(OpKind::kMeanLossBackward));
}

Op op_of(OpKind kind, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
  Op op;
  op.kind = kind;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  return op;
}

TEST(OpTraits, LetAnOpRunAgainOnlyWhileItsOperandsAreThere) {
  EXPECT_TRUE(repeatable(op_of(OpKind::kAdd, {0, 1}, {2})));
  EXPECT_TRUE(repeatable(op_of(OpKind::kDropout, {0}, {1})));
  EXPECT_FALSE(repeatable(op_of(OpKind::kAdd, {0, 1}, {1}))) << "merged in place";
  EXPECT_FALSE(repeatable(op_of(OpKind::kDenseBackwardWeights, {0, 1, 2}, {2}))) << "adds to its output";
}

TEST(OpTraits, GiveAnOpWithoutAttributesItsFamilys) {
  Graph graph;
  graph.add_op(op_of(OpKind::kConcat, {}, {}));
  EXPECT_EQ(graph.op(0).as<ConcatAttributes>(), ConcatAttributes{});
  EXPECT_THROW(graph.op(0).as<PartAttributes>(), std::logic_error);
  EXPECT_EQ(default_attributes(OpKind::kRelu), Attributes(NoAttributes{}));
}

TEST(OpTraits, KnowWhatOpsOfSomeFamiliesHaveInCommon) {
  Attributes pool = PoolAttributes{}, slice = PartAttributes{.axis = 2};
  fuse_activation(pool, Activation::kRelu);
  EXPECT_EQ(fused_activation(pool), Activation::kRelu);
  EXPECT_EQ(fused_activation(slice), Activation::kNone);
  EXPECT_THROW(fuse_activation(slice, Activation::kRelu), std::logic_error);
  EXPECT_EQ(axis_of(slice), 2);
  EXPECT_EQ(axis_of(pool), 0);
}

TEST(OpTraits, LetNoOpRunAgainThatMovesStateOrBringsData) {
  EXPECT_FALSE(repeatable(op_of(OpKind::kInput, {}, {0, 1})));
  EXPECT_FALSE(repeatable(op_of(OpKind::kBatchNorm, {0, 1, 2}, {3, 4, 5})));
  EXPECT_TRUE(repeatable(op_of(OpKind::kBatchNormApply, {0, 1, 4}, {3})));
  EXPECT_FALSE(repeatable(op_of(OpKind::kSgdUpdate, {0, 1, 2}, {3, 4})));
}

}  // namespace
}  // namespace sluice::graph
