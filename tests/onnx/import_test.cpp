// What models become: ops, parameters and their values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/onnx/model_maker.hpp"

namespace sluice::tests {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

using Axes = std::vector<std::int64_t>;

// A model of one chain of ops between images [2, 4, 6, 6] and logits: the test adds "y" from "x".
struct Chain {
  explicit Chain(std::int64_t opset = 15, const graph::Shape& shape = {2, 4, 6, 6}) : maker(opset) {
    maker.input("x", shape);
  }

  Result<onnx::OnnxModel> finish(std::int64_t features, const onnx::OnnxOptions& options = {}) {
    set(maker.node("Flatten", {"y"}, {"flat"}), "axis", std::int64_t{1});
    maker.weights("last", {features, 3});
    maker.node("MatMul", {"flat", "last"}, {"logits"});
    maker.output("logits");
    return maker.import(options);
  }

  ModelMaker maker;
};

TEST(OnnxImport, ReadsAnImageClassifier) {
  ModelMaker maker;
  make_image_classifier(maker);
  const auto model = maker.import({.batch = 4});
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_THAT(
      kinds(model->forward),
      ElementsAre(graph::OpKind::kInput, graph::OpKind::kConv2d, graph::OpKind::kBatchNorm, graph::OpKind::kAvgPool,
                  graph::OpKind::kReshape, graph::OpKind::kDense, graph::OpKind::kSoftmaxCrossEntropy));
  EXPECT_EQ(graph::fused_activation(model->forward.op(2).attributes), graph::Activation::kRelu);
  EXPECT_FLOAT_EQ(model->forward.op(2).as<graph::NormAttributes>().momentum, 0.1F);
  EXPECT_EQ(model->forward.tensor(model->forward.op(0).outputs[0]).shape, (graph::Shape{4, 3, 8, 8}));
  EXPECT_EQ(model->forward.tensor(model->forward.op(0).outputs[1]).bound, 10);
  EXPECT_EQ(find_tensor(model->forward, "conv.weight")->role, graph::Role::kParameter);
  EXPECT_EQ(find_tensor(model->forward, "bn.running")->role, graph::Role::kBuffer);
  std::vector<float> scale_shift = maker.values("bn.weight");
  const std::vector<float> shift = maker.values("bn.bias");
  scale_shift.insert(scale_shift.end(), shift.begin(), shift.end());
  EXPECT_EQ(given(*model, "bn.scale_shift"), scale_shift);
  EXPECT_EQ(model->opset, 15);
}

TEST(OnnxImport, ReadsPartsOfParameters) {
  ModelMaker maker;
  make_image_classifier(maker);
  const auto model = maker.import();
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::vector<float> part(3);
  ASSERT_TRUE(model->values->read("fc.weight", 5, part).ok());
  const std::vector<float> whole = maker.values("fc.weight");
  EXPECT_THAT(part, ElementsAre(whole[5], whole[6], whole[7]));
  EXPECT_FALSE(model->values->read("fc.weight", 38, part).ok());
  EXPECT_FALSE(model->values->read("bn.scale_shift", 7, part).ok());
  EXPECT_FALSE(model->values->read("nothing", 0, part).ok());
}

TEST(OnnxImport, TiesAnEmbeddingToTheLastLayerAndSeesTheCausalMask) {
  ModelMaker maker;
  make_language_model(maker);
  const auto model = maker.import({.batch = 2});
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_THAT(kinds(model->forward),
              ElementsAre(graph::OpKind::kInput, graph::OpKind::kEmbedding, graph::OpKind::kDense,
                          graph::OpKind::kTranspose, graph::OpKind::kMatMul, graph::OpKind::kSoftmax,
                          graph::OpKind::kMatMul, graph::OpKind::kDense, graph::OpKind::kSoftmaxCrossEntropy));
  EXPECT_TRUE(model->forward.op(5).as<graph::SoftmaxAttributes>().causal);
  EXPECT_EQ(model->forward.op(1).inputs[1], model->forward.op(7).inputs[1]);
  EXPECT_EQ(find_tensor(model->forward, "mask"), nullptr);
  const graph::Tensor& labels = model->forward.tensor(model->forward.op(0).outputs[1]);
  EXPECT_EQ(labels.content, graph::Content::kNextTokens);
  EXPECT_EQ(labels.bound, 20);
}

TEST(OnnxImport, TransposesWeightsOfMatMul) {
  ModelMaker maker;
  make_language_model(maker);
  const auto model = maker.import();
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::vector<float> stored = maker.values("w");
  const std::vector<float> read = given(*model, "w");
  for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(read[i], stored[i % 8 * 8 + i / 8]) << i;
}

TEST(OnnxImport, UnrollsAnLstmWithItsGatesInOurOrder) {
  ModelMaker maker;
  make_lstm(maker);
  const auto model = maker.import({.batch = 3});
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto count = [&](graph::OpKind kind) {
    return testing::Matches(Contains(kind).Times(5))(kinds(model->forward));
  };
  EXPECT_TRUE(count(graph::OpKind::kLstmCell));
  EXPECT_EQ(model->forward.tensor(model->forward.op(0).outputs[0]).shape, (graph::Shape{3, 5}));  // batch first
  const std::vector<float> w = maker.values("w");
  const std::vector<float> ours = given(*model, "lstm.weight_ih");
  const std::vector<std::size_t> rows = {0, 1, 4, 5, 6, 7, 2, 3};  // input, forget, cell, output of iofc
  for (std::size_t i = 0; i < 24; ++i) ASSERT_EQ(ours[i], w[rows[i / 3] * 3 + i % 3]) << i;
  EXPECT_EQ(given(*model, "b"), maker.values("b"));  // both biases, not their sum
}

TEST(OnnxImport, ASingleNumberIsAParameterWhereItIsSaidToBe) {
  ModelMaker maker;
  maker.input("x", {2, 5});
  maker.weights("scale", {1});
  maker.node("Mul", {"x", "scale"}, {"logits"});
  maker.output("logits");
  const auto has_parameters = [](const graph::Graph& graph) {
    return std::ranges::any_of(graph.tensors(),
                               [](const graph::Tensor& each) { return each.role == graph::Role::kParameter; });
  };
  const auto constant = maker.import();
  ASSERT_TRUE(constant.ok()) << constant.error().message;
  EXPECT_FALSE(has_parameters(constant->forward));
  const auto trained = maker.import({.trained = {{"scale", 0}}});
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_TRUE(has_parameters(trained->forward));
  EXPECT_EQ(given(*trained, "scale"), maker.values("scale"));
}

TEST(OnnxImport, KeepsOneParameterForUsesThatDoNotFitTogether) {
  ModelMaker maker;
  maker.input("x", {2, 5});
  maker.weights("w", {5, 5});
  maker.node("MatMul", {"x", "w"}, {"a"});
  set(maker.node("Gemm", {"a", "w"}, {"logits"}), "transB", std::int64_t{1});
  maker.output("logits");
  const auto model = maker.import();
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_THAT(kinds(model->forward), Contains(graph::OpKind::kTranspose));
  const auto is_parameter = [](const graph::Tensor& tensor) { return tensor.role == graph::Role::kParameter; };
  EXPECT_EQ(std::count_if(model->forward.tensors().begin(), model->forward.tensors().end(), is_parameter), 1);
}

TEST(OnnxImport, ReplacesABatchThatTheFileHasAsALiteral) {
  Chain chain(15, {2, 4, 6, 6});
  chain.maker.integers("shape", {2, -1});
  chain.maker.node("Reshape", {"x", "shape"}, {"y"});
  const auto model = chain.finish(144, {.batch = 8});
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->forward.tensor(model->forward.op(1).outputs[0]).shape, (graph::Shape{8, 144}));
}

TEST(OnnxImport, FoldsTheShapeArithmeticOfExporters) {
  Chain chain(15, {0, 4, 6, 6});
  ModelMaker& maker = chain.maker;
  maker.node("Shape", {"x"}, {"shape"});
  maker.integers("zero", {0});
  maker.node("Gather", {"shape", "zero"}, {"batch"});
  maker.integers("rest", {-1});
  set(maker.node("Concat", {"batch", "rest"}, {"target"}), "axis", std::int64_t{0});
  maker.node("Reshape", {"x", "target"}, {"y"});
  const auto model = chain.finish(144, {.batch = 5});
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->forward.tensor(model->forward.op(1).outputs[0]).shape, (graph::Shape{5, 144}));
}

TEST(OnnxImport, HonoursWhatOpsetsMean) {
  for (const std::int64_t opset : {9, 11, 12, 13, 17}) {
    Chain chain(opset, {2, 4, 6, 6});
    ModelMaker& maker = chain.maker;
    ::onnx::NodeProto& clip = maker.node("Clip", {"x"}, {"clipped"});
    if (opset < 11) {
      set(clip, "min", -1.0F);
      set(clip, "max", 2.0F);
    } else {
      maker.number("low", -1.0F);
      maker.number("high", 2.0F);
      clip.add_input("low");
      clip.add_input("high");
    }
    ::onnx::NodeProto& unsqueeze = maker.node("Unsqueeze", {"clipped"}, {"u"});
    ::onnx::NodeProto& squeeze = maker.node("Squeeze", {"u"}, {"s"});
    if (opset < 13) {
      set(unsqueeze, "axes", Axes{1});
      set(squeeze, "axes", Axes{1});
    } else {
      maker.integers("one", {1});
      unsqueeze.add_input("one");
      squeeze.add_input("one");
    }
    ::onnx::NodeProto& dropout = maker.node("Dropout", {"s"}, {"dropped"});
    if (opset < 12) {
      set(dropout, "ratio", 0.25F);
    } else {
      maker.number("ratio", 0.25F);
      dropout.add_input("ratio");
    }
    maker.node("Softmax", {"dropped"}, {"y"});  // along axis 1 and all after it, or along the last
    const auto model = chain.finish(144);
    ASSERT_TRUE(model.ok()) << opset << ": " << model.error().message;
    const auto find = [&](graph::OpKind kind) {
      for (const graph::Op& op : model->forward.ops()) {
        if (op.kind == kind) return op;
      }
      return graph::Op{};
    };
    const graph::Op clipped = find(graph::OpKind::kUnary);
    EXPECT_EQ(clipped.as<graph::UnaryAttributes>().function, graph::UnaryFunction::kClip);
    EXPECT_EQ(clipped.as<graph::UnaryAttributes>().alpha, -1.0F);
    EXPECT_EQ(clipped.as<graph::UnaryAttributes>().beta, 2.0F);
    EXPECT_EQ(find(graph::OpKind::kDropout).as<graph::DropoutAttributes>().rate, 0.25F);
    const graph::Shape along = model->forward.tensor(find(graph::OpKind::kSoftmax).inputs[0]).shape;
    EXPECT_EQ(along, opset < 13 ? (graph::Shape{2, 144}) : (graph::Shape{2, 4, 6, 6})) << opset;
  }
}

TEST(OnnxImport, ReadsGeluHoweverItIsWritten) {
  Chain chain;
  ModelMaker& maker = chain.maker;
  maker.number("root", 1.41421356F);
  maker.number("one", 1.0F);
  maker.number("half", 0.5F);
  maker.node("Div", {"x", "root"}, {"a"});
  maker.node("Erf", {"a"}, {"b"});
  maker.node("Add", {"b", "one"}, {"c"});
  maker.node("Mul", {"half", "x"}, {"d"});
  maker.node("Mul", {"d", "c"}, {"y"});
  const auto model = chain.finish(144);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->forward.op(1).kind, graph::OpKind::kUnary);
  EXPECT_EQ(model->forward.op(1).as<graph::UnaryAttributes>().function, graph::UnaryFunction::kGelu);
  EXPECT_EQ(model->forward.op(2).kind, graph::OpKind::kReshape);
}

TEST(OnnxImport, ReadsALayerNormInPieces) {
  Chain chain(15, {2, 6, 8});
  ModelMaker& maker = chain.maker;
  maker.number("two", 2.0F);
  maker.number("eps", 1e-5F);
  maker.weights("ln.weight", {8});
  maker.weights("ln.bias", {8});
  set(maker.node("ReduceMean", {"x"}, {"mean"}), "axes", Axes{-1});
  maker.node("Sub", {"x", "mean"}, {"d"});
  maker.node("Pow", {"d", "two"}, {"square"});
  set(maker.node("ReduceMean", {"square"}, {"variance"}), "axes", Axes{-1});
  maker.node("Add", {"variance", "eps"}, {"shifted"});
  maker.node("Sqrt", {"shifted"}, {"deviation"});
  maker.node("Div", {"d", "deviation"}, {"normal"});
  maker.node("Mul", {"normal", "ln.weight"}, {"scaled"});
  maker.node("Add", {"scaled", "ln.bias"}, {"y"});
  const auto model = chain.finish(48);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_THAT(kinds(model->forward), Contains(graph::OpKind::kLayerNorm));
  EXPECT_THAT(kinds(model->forward), Not(Contains(graph::OpKind::kReduce)));
  EXPECT_NE(find_tensor(model->forward, "ln.scale_shift"), nullptr);
}

TEST(OnnxImport, RoundsPoolingUpAsAsked) {
  Chain chain(15, {2, 4, 6, 6});
  ::onnx::NodeProto& pool = chain.maker.node("MaxPool", {"x"}, {"y"});
  set(pool, "kernel_shape", Axes{3, 3});
  set(pool, "strides", Axes{2, 2});
  set(pool, "ceil_mode", std::int64_t{1});
  const auto model = chain.finish(36);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->forward.op(1).as<graph::PoolAttributes>().window.pad_bottom, 1);
}

TEST(OnnxImport, LeavesPaddingToTheAveragePoolThatReadsIt) {
  Chain chain(15, {2, 4, 6, 6});
  chain.maker.integers("pads", {0, 0, 1, 1, 0, 0, 1, 1});
  chain.maker.node("Pad", {"x", "pads"}, {"padded"});
  set(chain.maker.node("AveragePool", {"padded"}, {"y"}), "kernel_shape", Axes{3, 3});
  const auto model = chain.finish(144);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->forward.op(1).kind, graph::OpKind::kAvgPool);
  EXPECT_TRUE(model->forward.op(1).as<graph::PoolAttributes>().count_padding);
  EXPECT_EQ(model->forward.op(1).as<graph::PoolAttributes>().window.pad_left, 1);
}

TEST(OnnxImport, ChoosesTheLossThatIsAskedFor) {
  ModelMaker maker;
  make_language_model(maker);
  const auto masked = maker.import({.batch = 2, .loss = onnx::OnnxLoss::kMaskedToken});
  ASSERT_TRUE(masked.ok()) << masked.error().message;
  EXPECT_EQ(masked->forward.tensor(masked->forward.op(0).outputs[0]).content, graph::Content::kMaskedTokens);
  EXPECT_EQ(masked->forward.tensor(masked->forward.op(0).outputs[1]).content, graph::Content::kHiddenTokens);
  EXPECT_FALSE(maker.import({.batch = 2, .loss = onnx::OnnxLoss::kCrossEntropy}).ok());
}

TEST(OnnxImport, DropsASoftmaxAtTheEnd) {
  ModelMaker maker;
  make_image_classifier(maker);
  maker.proto().mutable_graph()->mutable_output(0)->set_name("shares");
  maker.node("Softmax", {"logits"}, {"shares"});
  const auto model = maker.import();
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_THAT(kinds(model->forward), Not(Contains(graph::OpKind::kSoftmax)));
}

TEST(OnnxImport, TakesMasksAsOnesAndStatesAsZero) {
  ModelMaker maker;
  make_language_model(maker);
  maker.input("attention_mask", {0, 6}, ::onnx::TensorProto::INT64);
  set(maker.node("Cast", {"attention_mask"}, {"as_float"}), "to", std::int64_t{::onnx::TensorProto::FLOAT});
  maker.number("one", 1.0F);
  maker.node("Sub", {"one", "as_float"}, {"hidden"});
  maker.number("large", -1e9F);
  maker.node("Mul", {"hidden", "large"}, {"added"});
  maker.integers("middle", {1});
  maker.node("Unsqueeze", {"added", "middle"}, {"rows"});
  maker.proto().mutable_graph()->mutable_node(4)->set_input(0, "kept");
  maker.node("Add", {"scores", "rows"}, {"kept"});
  const auto model = maker.import({.batch = 2});
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_THAT(kinds(model->forward), Not(Contains(graph::OpKind::kBinary)));
}

}  // namespace
}  // namespace sluice::tests
