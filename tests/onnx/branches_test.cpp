// Control flow whose condition is known: the branch that is taken is part of the model, the other one is nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/onnx/model_maker.hpp"

namespace sluice::tests {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// A branch of one node, whose output is `result`.
::onnx::GraphProto branch(const std::string& op, const std::vector<std::string>& inputs, const std::string& result) {
  ::onnx::GraphProto graph;
  ::onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(op + " of a branch");
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(result);
  graph.add_output()->set_name(result);
  return graph;
}

// Images [N, 3, 8, 8] through a convolution and an If to logits. The test says what the If is about.
struct Branching {
  Branching() {
    maker.input("images", {0, 3, 8, 8});
    maker.weights("conv.weight", {10, 3, 1, 1});
    maker.node("Conv", {"images", "conv.weight"}, {"conv"});
    maker.node("GlobalAveragePool", {"conv"}, {"pool"});
    maker.integers("axes", {2, 3});
    maker.output("logits");
  }
  ::onnx::NodeProto& add(const std::string& condition, const ::onnx::GraphProto& then,
                         const ::onnx::GraphProto& other) {
    ::onnx::NodeProto& node = maker.node("If", {condition}, {"logits"}, "choice");
    set(node, "then_branch", then);
    set(node, "else_branch", other);
    return node;
  }
  void add_flag(const std::string& name, bool value) {
    ::onnx::TensorProto& tensor = *maker.proto().mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::BOOL);
    tensor.add_int32_data(value ? 1 : 0);
  }
  // The extent of the pooled images along the axis is one.
  void add_test_of_extent(std::int64_t axis) {
    maker.integers("axis", {axis});
    maker.integers("one", {1});
    maker.node("Shape", {"pool"}, {"shape"});
    maker.node("Gather", {"shape", "axis"}, {"extent"});
    maker.node("Equal", {"extent", "one"}, {"is_one"});
  }
  ModelMaker maker;
};

TEST(OnnxBranches, TheBranchOfAConstantConditionIsTaken) {
  for (const bool condition : {true, false}) {
    Branching model;
    model.add_flag("known", condition);
    model.add("known", branch("Squeeze", {"pool", "axes"}, "squeezed"), branch("Flatten", {"pool"}, "flat"));
    const auto imported = model.maker.import({.batch = 2});
    ASSERT_TRUE(imported.ok()) << imported.error().message;
    EXPECT_THAT(imported->notes, Contains(HasSubstr(condition ? "its then branch" : "its else branch")));
  }
}

TEST(OnnxBranches, ShapesAreKnown) {
  for (const std::int64_t axis : {2, 0}) {  // an extent of 1, and the batch
    Branching model;
    model.add_test_of_extent(axis);
    model.add("is_one", branch("Squeeze", {"pool", "axes"}, "squeezed"), branch("Flatten", {"pool"}, "flat"));
    const auto imported = model.maker.import({.batch = 2});
    ASSERT_TRUE(imported.ok()) << imported.error().message;
    EXPECT_THAT(imported->notes, Contains(HasSubstr(axis == 2 ? "its then branch" : "its else branch")));
  }
}

TEST(OnnxBranches, BranchesWithinBranchesMayUseOneName) {
  Branching model;
  model.add_flag("yes", true);
  model.add_flag("no", false);
  ::onnx::GraphProto inner = branch("Squeeze", {"pool", "axes"}, "same");
  ::onnx::GraphProto outer;
  ::onnx::NodeProto& node = *outer.add_node();
  node.set_op_type("If");
  node.set_name("inner choice");
  node.add_input("no");
  node.add_output("conv");  // a name of the graph around it
  set(node, "then_branch", branch("Identity", {"pool"}, "same"));
  set(node, "else_branch", inner);
  outer.add_output()->set_name("conv");
  model.add("yes", outer, branch("Identity", {"pool"}, "same"));
  const auto imported = model.maker.import({.batch = 2});
  ASSERT_TRUE(imported.ok()) << imported.error().message;
}

TEST(OnnxBranches, WeightsOfTheBranchAreTrainedAndWrittenBackWhereTheyWere) {
  Branching model;
  model.add_flag("known", false);
  ::onnx::GraphProto otherwise = branch("Conv", {"pool", "inner.weight"}, "again");
  ModelMaker other;
  *otherwise.add_initializer() = other.weights("inner.weight", {10, 10, 1, 1});
  model.add("known", branch("Identity", {"pool"}, "same"), otherwise);
  const auto imported = model.maker.import({.batch = 2});
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  ASSERT_NE(find_tensor(imported->forward, "inner.weight"), nullptr);
  const onnx::ReadParameter trained = [&](const std::string& name) -> Result<std::vector<float>> {
    std::vector<float> values = given(*imported, name);
    for (float& value : values) value = 7;
    return values;
  };
  const std::filesystem::path target = model.maker.folder() / "copy.onnx";
  ASSERT_TRUE(onnx::export_onnx(model.maker.write(), target, trained, {.batch = 2}).ok());
  ::onnx::ModelProto copy;
  std::ifstream file(target, std::ios::binary);
  ASSERT_TRUE(copy.ParseFromIstream(&file));
  const ::onnx::NodeProto& choice = copy.graph().node(copy.graph().node_size() - 1);
  ASSERT_EQ(choice.op_type(), "If") << "the file's own graph";
  const std::string& raw = choice.attribute(1).g().initializer(0).raw_data();
  float first = 0;
  std::memcpy(&first, raw.data(), sizeof(first));
  EXPECT_EQ(first, 7);
}

TEST(OnnxBranches, AConditionOfTheDataIsRefusedByNameAndOp) {
  Branching model;
  model.maker.node("ReduceMax", {"pool"}, {"largest"});
  model.add("largest", branch("Squeeze", {"pool", "axes"}, "squeezed"), branch("Identity", {"pool"}, "kept"));
  EXPECT_THAT(model.maker.import({.batch = 2}).error().message, HasSubstr("'choice' (If)"));
}

TEST(OnnxBranches, ABranchThatIsNoneIsRefused) {
  Branching model;
  model.add_flag("known", true);
  ::onnx::NodeProto& node = model.maker.node("If", {"known"}, {"logits"}, "choice");
  set(node, "else_branch", branch("Identity", {"pool"}, "kept"));
  EXPECT_THAT(model.maker.import().error().message, HasSubstr("'choice' (If): its then_branch does not make"));
}

// 2 ^ 24 numbers each, of a file of some KiB.
TEST(OnnxConstants, GrowNoMoreThanAFileMayAskFor) {
  ModelMaker maker;
  maker.input("x", {0, 16});
  maker.weights("w", {16, 10});
  maker.integers("size", {1 << 24});
  maker.node("MatMul", {"x", "w"}, {"sum0"});
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    maker.node("ConstantOfShape", {"size"}, {"big" + n});
    set(maker.node("ReduceMax", {"big" + n}, {"most" + n}), "keepdims", std::int64_t{0});
    maker.node("Add", {"sum" + n, "most" + n}, {"sum" + std::to_string(i + 1)});
  }
  maker.output("sum20");
  const auto imported = maker.import({.batch = 2});
  ASSERT_FALSE(imported.ok());
  EXPECT_THAT(imported.error().message,
              HasSubstr("takes 320.0 MiB so far, and a model with 648 B of weights may have 256.0 MiB"));
  EXPECT_GE(imported.error().requested_bytes.value_or(0), 320 * kMiB);
  EXPECT_EQ(imported.error().available_bytes, 256 * kMiB + 64 * 648);
  EXPECT_THAT(imported.error().message, Not(HasSubstr("cannot be imported")));
}

TEST(OnnxNames, AreUtf8) {
  ModelMaker maker;
  make_image_classifier(maker);
  maker.proto().mutable_graph()->mutable_node(1)->set_name("caf\xe9");
  EXPECT_THAT(maker.import().error().message, HasSubstr("not UTF-8"));
}

}  // namespace
}  // namespace sluice::tests
