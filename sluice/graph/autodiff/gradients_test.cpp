// The gradient of each op kind, by hand: small graphs and the backward ops they should get. Tensors are written by
// name; updates are left out.
#include "sluice/graph/autodiff/gradients.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"

namespace sluice::graph {
namespace {

using Lines = std::vector<std::string>;

std::string names(const Graph& graph, const std::vector<TensorId>& ids) {
  Lines list;
  for (const TensorId id : ids) list.push_back(graph.tensor(id).name);
  return fmt::format("{}", fmt::join(list, ", "));
}

std::string line(const Graph& graph, const Op& op) {
  return fmt::format("{}({}) -> {}", to_string(op.kind), names(graph, op.inputs), names(graph, op.outputs));
}

// A graph of one layer, "f", on parameters, whose result meets a loss in layer "loss".
class GradientsTest : public testing::Test {
 protected:
  GradientsTest() { builder_.begin_layer("f"); }

  TensorId parameter(const std::string& name, Shape shape) {
    return builder_.named_parameter(name, std::move(shape), {});
  }

  // The backward ops of layer "f" for the gradient of `y`, which has the name "dy".
  Lines gradients_of(TensorId y) {
    builder_.begin_layer("loss");
    builder_.sigmoid_cross_entropy(y, 1);
    training_ = build_training_graph(std::move(builder_.finish()).value(), {.rematerialize = Rematerialize::kNothing});
    const Status status = validate(training_);
    EXPECT_TRUE(status.ok()) << status.error().message;
    Lines lines;
    for (Op& op : backward_ops()) {
      if (op.kind == OpKind::kSigmoidCrossEntropyBackward) training_.tensor(op.outputs[0]).name = "dy";
      if (op.layer == 0) lines.push_back(line(training_, op));
    }
    return lines;
  }

  std::vector<Op> backward_ops() const {
    std::vector<Op> ops;
    for (const Op& op : training_.ops()) {
      if (op.phase == Phase::kBackward) ops.push_back(op);
    }
    return ops;
  }

  // Of the only backward op of this kind.
  template <typename Family>
  Family attributes_of(OpKind kind) const {
    for (const Op& op : backward_ops()) {
      if (op.kind == kind) return op.as<Family>();
    }
    return {};
  }

  GraphBuilder builder_{"net"};
  Graph training_;
};

TEST_F(GradientsTest, Convolutions) {
  const TensorId x = parameter("x", {2, 4, 8, 8});
  EXPECT_EQ(gradients_of(builder_.conv2d(
                builder_.conv_transpose2d(x, {.out_channels = 4, .kernel = 2, .stride = 2, .bias = true}),
                {.out_channels = 4, .kernel = 2, .stride = 2, .activation = Activation::kRelu6})),
            (Lines{"unary_backward(f.conv2d, dy) -> f.conv2d.unary_backward",
                   "conv2d_backward_data(f.conv2d.unary_backward, f.weight_2) -> f.conv_transpose2d.grad",
                   "conv2d_backward_weights(f.conv_transpose2d, f.conv2d.unary_backward) -> f.weight_2.grad",
                   "conv_transpose2d_backward_data(f.conv_transpose2d.grad, f.weight) -> x.grad",
                   "conv_transpose2d_backward_weights(x, f.conv_transpose2d.grad) -> f.weight.grad, f.bias.grad"}));
  EXPECT_EQ(attributes_of<UnaryAttributes>(OpKind::kUnaryBackward).function, UnaryFunction::kClip);
  EXPECT_EQ(attributes_of<UnaryAttributes>(OpKind::kUnaryBackward).beta, 6);
  EXPECT_EQ(attributes_of<ConvolutionAttributes>(OpKind::kConv2dBackwardData).window, square_window(2, 2));
  EXPECT_EQ(attributes_of<ConvolutionAttributes>(OpKind::kConv2dBackwardData).activation, Activation::kNone);
}

TEST_F(GradientsTest, Norms) {
  TensorId x = parameter("x", {2, 4, 8, 8});
  x = builder_.local_response_norm(x, 5, 1e-4F, 0.75F, 1);
  x = builder_.batch_norm(x, Activation::kRelu);
  EXPECT_EQ(gradients_of(builder_.layer_norm(x)),
            (Lines{"layer_norm_backward(f.batch_norm, dy, f.ln.scale_shift, f.layer_norm.stats) -> f.batch_norm.grad, "
                   "f.ln.scale_shift.grad",
                   "batch_norm_backward(f.local_response_norm, f.batch_norm.grad, f.bn.scale_shift, "
                   "f.batch_norm.stats) -> f.local_response_norm.grad, f.bn.scale_shift.grad",
                   "local_response_norm_backward(x, f.local_response_norm.grad) -> x.grad"}));
  EXPECT_EQ(attributes_of<NormAttributes>(OpKind::kBatchNormBackward).activation, Activation::kRelu);
}

TEST_F(GradientsTest, AResidualInsideABatchNormHasTheGradientBeforeTheActivation) {
  const TensorId x = parameter("x", {2, 4, 8, 8});
  const TensorId residual = parameter("r", {2, 4, 8, 8});
  const TensorId scale_shift = parameter("s", {2, 4});
  const TensorId running = builder_.named_parameter("running", {2, 4}, {}, Role::kBuffer);
  NormAttributes attributes;
  attributes.activation = Activation::kRelu;
  EXPECT_EQ(gradients_of(builder_.add(OpKind::kBatchNorm, attributes, {x, scale_shift, running, residual})),
            (Lines{"relu_backward(f.batch_norm, dy) -> f.batch_norm.relu_backward",
                   "batch_norm_backward(x, f.batch_norm.relu_backward, s, f.batch_norm.stats) -> x.grad, s.grad"}));
  EXPECT_EQ(attributes_of<NormAttributes>(OpKind::kBatchNormBackward).activation, Activation::kNone);
  EXPECT_EQ(names(training_, training_.ops().back().inputs), "r, f.batch_norm.relu_backward, r.momentum");
}

TEST_F(GradientsTest, UnaryFunctionsReadTheirInputOrTheirOutput) {
  TensorId x = parameter("x", {2, 3});
  x = builder_.unary(x, UnaryFunction::kTanh);
  x = builder_.gelu(x);
  x = builder_.unary(x, UnaryFunction::kLinear, 3, 1);
  EXPECT_EQ(gradients_of(builder_.softmax(builder_.dropout(builder_.relu(x), 0.5F), 2)),
            (Lines{"softmax_backward(f.softmax, dy) -> f.dropout.grad", "dropout(f.dropout.grad) -> f.relu.grad",
                   "relu_backward(f.relu, f.relu.grad) -> f.unary_3.grad", "unary(f.unary_3.grad) -> f.unary_2.grad",
                   "unary_backward(f.unary, f.unary_2.grad) -> f.unary.grad",
                   "unary_backward(f.unary, f.unary.grad) -> x.grad"}));
  EXPECT_EQ(attributes_of<UnaryAttributes>(OpKind::kUnary).alpha, 3);
  EXPECT_EQ(attributes_of<UnaryAttributes>(OpKind::kUnary).beta, 0);
  EXPECT_EQ(attributes_of<DropoutAttributes>(OpKind::kDropout).stream, training_.op(4).as<DropoutAttributes>().stream);
  EXPECT_EQ(attributes_of<SoftmaxAttributes>(OpKind::kSoftmaxBackward).factor, 2);
}

TEST_F(GradientsTest, BinaryOpsSumOverWhatWasRepeated) {
  const TensorId a = parameter("a", {4, 3});
  const TensorId b = parameter("b", {3});
  EXPECT_EQ(gradients_of(builder_.binary(a, b, BinaryFunction::kMultiply)),
            (Lines{"binary(dy, b) -> a.grad", "binary(dy, a) -> f.binary.binary_2",
                   "reduce(f.binary.binary_2) -> f.binary.reduce", "reshape(f.binary.reduce) -> b.grad"}));
  EXPECT_EQ(attributes_of<BinaryAttributes>(OpKind::kBinary).function, BinaryFunction::kMultiply);
  EXPECT_EQ(attributes_of<ReduceAttributes>(OpKind::kReduce).axes, (std::vector<std::int64_t>{0}));
}

TEST_F(GradientsTest, AddAndSubtractPassTheGradientOn) {
  const TensorId a = parameter("a", {4, 3});
  const TensorId b = parameter("b", {4, 1});
  const TensorId c = parameter("c", {4, 3});
  const TensorId sum = builder_.binary(a, b, BinaryFunction::kAdd);
  EXPECT_EQ(gradients_of(builder_.binary(sum, c, BinaryFunction::kSubtract)),
            (Lines{"unary(dy) -> c.grad", "reduce(dy) -> b.grad"}));
  EXPECT_EQ(attributes_of<UnaryAttributes>(OpKind::kUnary).alpha, -1);
}

TEST_F(GradientsTest, SelectGivesEachSideWhatItGave) {
  const TensorId condition = builder_.named_parameter("c", {3}, {}, Role::kBuffer);
  const TensorId a = parameter("a", {4, 3});
  const TensorId b = parameter("b", {4, 1});
  EXPECT_EQ(gradients_of(builder_.select(condition, a, b)),
            (Lines{"binary(c, c) -> f.select.binary", "select(c, dy, f.select.binary) -> a.grad",
                   "select(c, f.select.binary, dy) -> f.select.select_2", "reduce(f.select.select_2) -> b.grad"}));
}

TEST_F(GradientsTest, ADivisorsGradientIsFromTheQuotient) {
  const TensorId a = parameter("a", {4, 3});
  const TensorId b = parameter("b", {4, 3});
  EXPECT_EQ(gradients_of(builder_.binary(a, b, BinaryFunction::kDivide)),
            (Lines{"binary(dy, b) -> a.grad", "binary(dy, b) -> f.binary.binary_2",
                   "binary(f.binary.binary_2, f.binary) -> f.binary.binary_3", "unary(f.binary.binary_3) -> b.grad"}));
}

TEST_F(GradientsTest, ReduceAndBroadcastAreOpposites) {
  TensorId x = parameter("x", {4, 1, 3});
  ShapeAttributes grown;
  grown.shape = {4, 5, 3};
  x = builder_.add(OpKind::kBroadcast, grown, {x});
  EXPECT_EQ(gradients_of(builder_.reduce(x, ReduceFunction::kMean, {2})),
            (Lines{"unary(dy) -> f.reduce.unary", "broadcast(f.reduce.unary) -> f.broadcast.grad",
                   "reduce(f.broadcast.grad) -> x.grad"}));
  EXPECT_FLOAT_EQ(attributes_of<UnaryAttributes>(OpKind::kUnary).alpha, 1.0F / 3);
  EXPECT_EQ(attributes_of<ReduceAttributes>(OpKind::kReduce).function, ReduceFunction::kSum);
}

TEST_F(GradientsTest, ViewsAndTranspositionsAreUndone) {
  TensorId x = parameter("x", {2, 3, 4});
  EXPECT_EQ(gradients_of(builder_.reshape(builder_.transpose(x, {2, 0, 1}), {8, 3})),
            (Lines{"reshape(dy) -> f.transpose.grad", "transpose(f.transpose.grad) -> x.grad"}));
  EXPECT_EQ(attributes_of<TransposeAttributes>(OpKind::kTranspose).axes, (std::vector<std::int64_t>{1, 2, 0}));
}

TEST_F(GradientsTest, ConcatHandsOutSlices) {
  const TensorId a = parameter("a", {2, 3});
  const TensorId b = parameter("b", {2, 5});
  const auto lines = gradients_of(builder_.concat({a, b, a}, 1));
  EXPECT_EQ(lines, (Lines{"slice(dy) -> a.grad", "slice(dy) -> b.grad", "slice(dy) -> a.grad_2",
                          "add(a.grad, a.grad_2) -> a.grad.sum"}));
  EXPECT_EQ(attributes_of<PartAttributes>(OpKind::kSlice).end, 3);
}

TEST_F(GradientsTest, SlicesThatCoverAreConcatenated) {
  const TensorId x = parameter("x", {2, 6});
  const TensorId last = builder_.slice(x, 1, 2, 6);
  const TensorId first = builder_.slice(x, 1, 0, 2);
  const TensorId joined = builder_.concat({last, first}, 1);
  EXPECT_EQ(gradients_of(joined), (Lines{"slice(dy) -> f.slice.grad", "slice(dy) -> f.slice_2.grad",
                                         "concat(f.slice_2.grad, f.slice.grad) -> x.grad"}));
}

TEST_F(GradientsTest, OtherSlicesArePaddedAndAdded) {
  const TensorId x = parameter("x", {2, 6});
  const TensorId sum = builder_.add(builder_.slice(x, 1, 0, 3), builder_.slice(x, 1, 2, 5));
  EXPECT_EQ(gradients_of(sum),
            (Lines{"pad(dy) -> x.grad", "pad(dy) -> x.grad_2", "add(x.grad, x.grad_2) -> x.grad.sum"}));
  EXPECT_EQ(attributes_of<PartAttributes>(OpKind::kPad).shape, (Shape{2, 6}));
  EXPECT_EQ(attributes_of<PartAttributes>(OpKind::kPad).end, 3);
}

TEST_F(GradientsTest, PadHandsOutASlice) {
  PartAttributes attributes;
  attributes.axis = 1;
  attributes.begin = 2;
  attributes.end = 5;
  attributes.shape = {2, 6};
  const TensorId x = parameter("x", {2, 3});
  EXPECT_EQ(gradients_of(builder_.add(OpKind::kPad, attributes, {x})), (Lines{"slice(dy) -> x.grad"}));
}

TEST_F(GradientsTest, PoolsReadNothingButTheIndex) {
  const TensorId x = parameter("x", {2, 3, 8, 8});
  EXPECT_EQ(gradients_of(builder_.avg_pool(builder_.max_pool(x, {}), {})),
            (Lines{"avg_pool_backward(dy) -> f.max_pool.grad",
                   "max_pool_backward(f.max_pool.grad, f.max_pool.index) -> x.grad"}));
}

TEST_F(GradientsTest, ProductsComposePermutations) {
  ProductAttributes attributes;
  attributes.perm_a = {0, 2, 1, 3};  // a [B, S, heads, K]
  attributes.perm_b = {0, 2, 3, 1};  // b [B, T, heads, K]
  attributes.perm_y = {1, 0, 2, 3};  // y [heads, B, S, T]
  attributes.factor = 0.5F;
  const TensorId a = parameter("a", {2, 5, 4, 8});
  const TensorId b = parameter("b", {2, 7, 4, 8});
  EXPECT_EQ(gradients_of(builder_.add(OpKind::kMatMul, attributes, {a, b})),
            (Lines{"matmul(dy, b) -> a.grad", "matmul(a, dy) -> b.grad"}));
  const std::vector<Op> ops = backward_ops();
  const auto& da = ops.at(1).as<ProductAttributes>();
  EXPECT_EQ(da.factor, 0.5F);
  EXPECT_EQ(da.perm_a, (std::vector<std::int64_t>{1, 0, 2, 3}));  // dy -> [B, heads, S, T]
  EXPECT_EQ(da.perm_b, (std::vector<std::int64_t>{0, 2, 1, 3}));  // b -> [B, heads, T, K]
  EXPECT_EQ(da.perm_y, (std::vector<std::int64_t>{0, 2, 1, 3}));  // [B, heads, S, K] -> a
  const auto& db = ops.at(2).as<ProductAttributes>();
  EXPECT_EQ(db.perm_a, (std::vector<std::int64_t>{0, 2, 3, 1}));  // a -> [B, heads, K, S]
  EXPECT_EQ(db.perm_b, (std::vector<std::int64_t>{1, 0, 2, 3}));  // dy -> [B, heads, S, T]
  EXPECT_EQ(db.perm_y, (std::vector<std::int64_t>{0, 3, 1, 2}));  // [B, heads, K, T] -> b
}

TEST_F(GradientsTest, PlainProductsNeedOneTranspositionEach) {
  const TensorId a = parameter("a", {2, 3});
  const TensorId b = parameter("b", {3, 4});
  gradients_of(builder_.matmul(a, b));
  const std::vector<Op> ops = backward_ops();
  EXPECT_TRUE(ops.at(1).as<ProductAttributes>().perm_a.empty() && ops.at(1).as<ProductAttributes>().perm_y.empty());
  EXPECT_EQ(ops.at(1).as<ProductAttributes>().perm_b, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(ops.at(2).as<ProductAttributes>().perm_a, (std::vector<std::int64_t>{1, 0}));
}

}  // namespace
}  // namespace sluice::graph
