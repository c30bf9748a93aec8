// Forms of ops that their usual tests leave out: odd paddings, windows over padded images, integers, types, and what is
// refused before anything is allocated.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/onnx/forward_run.hpp"

namespace sluice::tests {
namespace {

using ::testing::Contains;
using ::testing::FloatNear;
using ::testing::Not;
using ::testing::Pointwise;
using Integers = std::vector<std::int64_t>;

TEST(Forms, TransposedConvolutionsPadForAnOddOutput) {
  for (const std::string mode : {"NOTSET", "SAME_LOWER", "SAME_UPPER"}) {
    ModelMaker maker;
    maker.input("x", {1, 1, 2});
    maker.weights("w", {1, 1, 3}, {1, 2, 3});
    ::onnx::NodeProto& node = maker.node("ConvTranspose", {"x", "w"}, {"y"});
    set(node, "strides", Integers{2});
    set(node, "auto_pad", mode);
    if (mode == "NOTSET") set(node, "output_shape", Integers{4});
    maker.output("y");
    const Values wanted = mode == "SAME_UPPER" ? Values{1, 2, 13, 20} : Values{2, 13, 20, 30};
    EXPECT_THAT(output_of(maker, numbers({1, 1, 2}, {1, 10})), Pointwise(FloatNear(1e-5F), wanted)) << mode;
  }
}

TEST(Forms, TransposedConvolutionsWithZerosBehind) {
  ModelMaker maker;
  maker.input("x", {1, 1, 2});
  maker.weights("w", {1, 1, 3}, {1, 2, 3});
  ::onnx::NodeProto& node = maker.node("ConvTranspose", {"x", "w"}, {"y"});
  set(node, "strides", Integers{2});
  set(node, "output_shape", Integers{6});  // one more than there is
  maker.output("y");
  EXPECT_THAT(output_of(maker, numbers({1, 1, 2}, {1, 10})), Pointwise(FloatNear(1e-5F), Values{1, 2, 13, 20, 30, 0}));
}

struct PaddedPool {
  std::int64_t extent, before, after, kernel, stride, dilation, ceil;
};

// Means along one axis of rows that zeros were put around.
Values means_of(const PaddedPool& p, const Values& x) {
  Values y;
  const std::int64_t whole = p.extent + p.before + p.after;
  const std::int64_t reach = p.dilation * (p.kernel - 1) + 1;
  const std::int64_t outputs = (whole - reach + (p.ceil != 0 ? p.stride - 1 : 0)) / p.stride + 1;
  for (std::int64_t output = 0; output < outputs; ++output) {
    float sum = 0;
    float count = 0;
    for (std::int64_t tap = 0; tap < p.kernel; ++tap) {
      const std::int64_t place = output * p.stride + tap * p.dilation;
      if (place >= whole) continue;
      count += 1;
      const std::int64_t own = place - p.before;
      if (own >= 0 && own < p.extent) sum += x[static_cast<std::size_t>(own)];
    }
    y.push_back(sum / count);
  }
  return y;
}

TEST(Forms, MeansOverPaddedImages) {
  for (const PaddedPool& p : {PaddedPool{3, 1, 1, 2, 1, 2, 0},
                              {2, 1, 1, 3, 1, 1, 0},
                              {5, 0, 1, 3, 2, 1, 1},
                              {4, 2, 1, 3, 2, 1, 0},
                              {5, 1, 2, 2, 3, 2, 1}}) {
    ModelMaker maker(19);
    maker.input("x", {1, 1, 1, p.extent});
    maker.integers("pads", {0, 0, 0, p.before, 0, 0, 0, p.after});
    maker.node("Pad", {"x", "pads"}, {"padded"});
    ::onnx::NodeProto& node = maker.node("AveragePool", {"padded"}, {"y"});
    set(node, "kernel_shape", Integers{1, p.kernel});
    set(node, "strides", Integers{1, p.stride});
    set(node, "dilations", Integers{1, p.dilation});
    set(node, "ceil_mode", p.ceil);
    maker.output("y");
    const onnx::HostArray x = wave({1, 1, 1, p.extent});
    EXPECT_THAT(output_of(maker, x), Pointwise(FloatNear(1e-6F), means_of(p, x.floats)));
  }
}

TEST(Forms, APadBeforeAutomaticPaddingCounts) {
  ModelMaker maker;
  maker.input("x", {1, 1, 1, 3});
  maker.integers("pads", {0, 0, 0, 1, 0, 0, 0, 0});
  maker.weights("w", {1, 1, 1, 2}, {1, 10});
  maker.node("Pad", {"x", "pads"}, {"padded"});
  ::onnx::NodeProto& node = maker.node("Conv", {"padded", "w"}, {"y"});
  set(node, "strides", Integers{1, 3});
  set(node, "auto_pad", std::string("SAME_UPPER"));  // of 0 1 2 3: two windows, with a zero behind
  maker.output("y");
  EXPECT_THAT(output_of(maker, numbers({1, 1, 1, 3}, {1, 2, 3})), Pointwise(FloatNear(1e-5F), Values{10, 3}));
}

TEST(Forms, FloatsOfOneHotAreDividedAsSuch) {
  ModelMaker maker;
  maker.input("ids", {2}, ::onnx::TensorProto::INT64);
  maker.integers("depth", {2});
  maker.weights("values", {2}, {0, 1});
  maker.number("four", 4);
  maker.node("OneHot", {"ids", "depth", "values"}, {"rows"});
  maker.node("Div", {"rows", "four"}, {"y"});
  maker.output("y");
  onnx::HostArray ids = onnx::filled(graph::Shape{2}, std::int64_t{0});
  ids.ints = {1, 0};
  EXPECT_EQ(output_of(maker, ids), (Values{0, 0.25F, 0.25F, 0}));
}

TEST(Forms, IdsAreDividedAsIntegersInTraining) {
  ModelMaker maker;
  maker.input("ids", {2, 6}, ::onnx::TensorProto::INT64);
  maker.weights("table", {20, 20});
  maker.integers("four", {4});
  maker.integers("last", {2});
  maker.node("Gather", {"table", "ids"}, {"rows"});
  maker.node("Div", {"ids", "four"}, {"quarters"});
  set(maker.node("Cast", {"quarters"}, {"numbers"}), "to", std::int64_t{::onnx::TensorProto::FLOAT});
  maker.node("Unsqueeze", {"numbers", "last"}, {"column"});
  maker.node("Add", {"rows", "column"}, {"logits"});
  maker.output("logits");
  const auto model = maker.import();
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto rounds = [](const graph::Op& op) {
    return op.kind == graph::OpKind::kUnary && op.as<graph::UnaryAttributes>().function == graph::UnaryFunction::kFloor;
  };
  EXPECT_TRUE(std::ranges::any_of(model->forward.ops(), rounds));
}

TEST(Forms, ConstantsAreCastToEveryTypeOfNumbers) {
  for (const auto type : {::onnx::TensorProto::INT8, ::onnx::TensorProto::UINT8, ::onnx::TensorProto::INT16,
                          ::onnx::TensorProto::INT32, ::onnx::TensorProto::INT64, ::onnx::TensorProto::UINT16}) {
    ModelMaker maker;
    maker.input("x", {1});
    maker.number("number", 3.5F);
    set(maker.node("Cast", {"number"}, {"whole"}), "to", std::int64_t{type});
    set(maker.node("Cast", {"whole"}, {"half"}), "to", std::int64_t{::onnx::TensorProto::BFLOAT16});
    set(maker.node("Cast", {"half"}, {"single"}), "to", std::int64_t{::onnx::TensorProto::FLOAT});
    maker.node("Mul", {"x", "single"}, {"y"});
    maker.output("y");
    EXPECT_EQ(output_of(maker, numbers({1}, {2})), (Values{6})) << type;
  }
}

TEST(Forms, FewRunsOfElementsAreSlices) {
  ModelMaker maker;
  maker.input("x", {2, 4});
  maker.integers("places", {0, 2, 3, 0});
  set(maker.node("Gather", {"x", "places"}, {"y"}), "axis", std::int64_t{1});
  maker.output("y");
  const auto model = onnx::import_forward(maker.write());
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_THAT(kinds(model->graph), Not(Contains(graph::OpKind::kSparseProduct)));
  EXPECT_EQ(output_of(maker, numbers({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})), (Values{1, 3, 4, 1, 5, 7, 8, 5}));
}

// What the importer says of a model that it must not take.
std::string refusal_of(ModelMaker& maker) {
  maker.output("y");
  const auto model = onnx::import_forward(maker.write());
  return model.ok() ? "taken" : model.error().message;
}

TEST(Forms, ResizingRefusesExtentsBeyondAllMemory) {
  ModelMaker maker(18);
  maker.input("x", {2, 1 << 20});
  maker.integers("sizes", {4096, 1});
  ::onnx::NodeProto& node = maker.node("Resize", {"x", "", "", "sizes"}, {"y"});
  set(node, "keep_aspect_ratio_policy", std::string("not_smaller"));
  EXPECT_THAT(refusal_of(maker), ::testing::HasSubstr("impossible extent"));
}

TEST(Forms, ResizingRefusesUnknownModesAndRegions) {
  const std::vector<std::pair<std::string, std::string>> attributes = {{"mode", "sharp"},
                                                                       {"nearest_mode", "up"},
                                                                       {"coordinate_transformation_mode", "x"},
                                                                       {"keep_aspect_ratio_policy", "larger"}};
  for (const auto& [name, value] : attributes) {
    ModelMaker maker(18);
    maker.input("x", {2, 3});
    maker.integers("sizes", {4, 4});
    set(maker.node("Resize", {"x", "", "", "sizes"}, {"y"}), name, value);
    EXPECT_THAT(refusal_of(maker), ::testing::HasSubstr("has the " + name)) << name;
  }
  ModelMaker maker(18);
  maker.input("x", {2, 3});
  maker.weights("roi", {4}, {0, 0, 1, 1e30F});
  maker.integers("sizes", {4, 4});
  ::onnx::NodeProto& node = maker.node("Resize", {"x", "roi", "", "sizes"}, {"y"});
  set(node, "coordinate_transformation_mode", std::string("tf_crop_and_resize"));
  EXPECT_THAT(refusal_of(maker), ::testing::HasSubstr("impossible roi"));
}

TEST(Forms, UnknownAutomaticPaddingIsRefused) {
  ModelMaker maker;
  maker.input("x", {1, 1, 4, 4});
  ::onnx::NodeProto& node = maker.node("MaxPool", {"x"}, {"y"});
  set(node, "kernel_shape", Integers{2, 2});
  set(node, "auto_pad", std::string("SAME"));
  EXPECT_THAT(refusal_of(maker), ::testing::HasSubstr("auto_pad"));
}

TEST(Forms, PaddingRefusesTensorsBeyondAllMemory) {
  for (const bool image : {true, false}) {
    ModelMaker maker;
    const std::int64_t far = 1 << 20;
    maker.input("x", image ? graph::Shape{64, 64, 2, 2} : graph::Shape{2, 2, 2});
    maker.integers("pads", image ? Integers{0, 0, far, far, 0, 0, far, far} : Integers{far, far, far, far, far, far});
    maker.node("Pad", {"x", "pads"}, {image ? "padded" : "y"});
    if (image) set(maker.node("AveragePool", {"padded"}, {"y"}), "kernel_shape", Integers{2, 2});
    EXPECT_THAT(refusal_of(maker), ::testing::HasSubstr("larger than any machine")) << image;
  }
}

TEST(Forms, CroppingAndPaddingRefusesTensorsBeyondAllMemory) {
  ModelMaker maker(18);
  maker.input("x", {2, 2, 2});
  maker.integers("shape", {1 << 20, 1 << 20, 1 << 20});
  maker.node("CenterCropPad", {"x", "shape"}, {"y"});
  EXPECT_THAT(refusal_of(maker), ::testing::HasSubstr("larger than any machine"));
}

TEST(Forms, OneHotRefusesADepthBeyondAllIntegers) {
  ModelMaker maker;
  maker.input("x", {2});
  maker.weights("depth", {1}, {1e30F});
  maker.weights("values", {2}, {0, 1});
  maker.node("OneHot", {"x", "depth", "values"}, {"y"});
  EXPECT_THAT(refusal_of(maker), ::testing::HasSubstr("depth"));
}

}  // namespace
}  // namespace sluice::tests
