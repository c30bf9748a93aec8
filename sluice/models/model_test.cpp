#include "sluice/models/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "sluice/graph/in_place.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/slice_dense.hpp"
#include "sluice/graph/summary.hpp"
#include "sluice/graph/validate.hpp"

namespace sluice {
namespace {

Graph build(std::string_view name, const ModelOptions& options = {}) {
  return std::move(build_model(name, options)).value();
}

std::string error_of(std::string_view name, const ModelOptions& options) {
  const Result<Graph> graph = build_model(name, options);
  if (graph.ok()) return "no error";
  EXPECT_EQ(graph.error().code, ErrorCode::kBadInput);
  return graph.error().message;
}

// Shape of the first operand of the first op of a layer.
Shape shape_at(const Graph& graph, const std::string& layer) {
  for (const Op& op : graph.ops()) {
    if (graph.layers[static_cast<std::size_t>(op.layer)] == layer) return graph.tensor(op.outputs[0]).shape;
  }
  return {};
}

struct KnownCount {
  std::string name;
  std::int64_t parameters;
};

class ModelParameters : public testing::TestWithParam<KnownCount> {};

TEST_P(ModelParameters, EqualTheWellKnownCount) {
  EXPECT_EQ(summarize(build(GetParam().name)).parameters, GetParam().parameters);
}

// ImageNet models: torchvision's counts. CIFAR: the paper's network plus its projection shortcuts.
INSTANTIATE_TEST_SUITE_P(All, ModelParameters,
                         testing::Values(KnownCount{"resnet18", 11689512}, KnownCount{"resnet34", 21797672},
                                         KnownCount{"resnet50", 25557032}, KnownCount{"resnet101", 44549160},
                                         KnownCount{"resnet152", 60192808}, KnownCount{"vgg11", 132863336},
                                         KnownCount{"vgg16", 138357544}, KnownCount{"vgg19", 143667240},
                                         KnownCount{"resnet20", 272474}, KnownCount{"plain20", 272474 - 2752}),
                         [](const auto& test_case) { return test_case.param.name; });

class EveryModel : public testing::TestWithParam<ModelEntry> {};

TEST_P(EveryModel, IsAValidTrainingGraph) {
  const ModelEntry& entry = GetParam();
  Graph graph = std::move(build_training_model(entry.name, {.batch = entry.default_batch})).value();
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(graph.name, entry.name);
  EXPECT_EQ(shape_at(graph, "input"),
            (Shape{entry.default_batch, 3, entry.default_image_size, entry.default_image_size}));
  EXPECT_EQ(graph.tensor(graph.op(0).outputs[1]).shape, (Shape{entry.default_batch}));
  merge_in_place(graph);
  EXPECT_TRUE(validate(graph).ok()) << validate(graph).error().message;
}

TEST_P(EveryModel, NamesTensorsAndOpsDistinctly) {
  const Graph graph = std::move(build_training_model(GetParam().name, {})).value();
  std::set<std::string> tensors;
  for (const Tensor& tensor : graph.tensors()) EXPECT_TRUE(tensors.insert(tensor.name).second) << tensor.name;
  const std::set<std::string> layers(graph.layers.begin(), graph.layers.end());
  EXPECT_EQ(layers.size(), graph.layers.size());
}

TEST_P(EveryModel, RunsEachLayerOnceForwardAndOnceBackwardButInput) {
  const Graph graph = std::move(build_training_model(GetParam().name, {})).value();
  EXPECT_EQ(analyze_liveness(graph).spans.size(), 2 * graph.layers.size() - 1);
}

TEST_P(EveryModel, FollowsBatchImageSizeAndClasses) {
  const Graph graph = build(GetParam().name, {.batch = 3, .image_size = 64, .classes = 7});
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(shape_at(graph, "input"), (Shape{3, 3, 64, 64}));
  EXPECT_EQ(graph.tensor(graph.ops().back().inputs[0]).shape, (Shape{3, 7}));
}

INSTANTIATE_TEST_SUITE_P(All, EveryModel, testing::ValuesIn(models()),
                         [](const auto& test_case) { return test_case.param.name; });

TEST(Resnet50, HasThePaperStageSizes) {
  const Graph graph = build("resnet50", {.batch = 2});
  EXPECT_EQ(shape_at(graph, "conv1"), (Shape{2, 64, 112, 112}));
  EXPECT_EQ(shape_at(graph, "layer1.2.conv3"), (Shape{2, 256, 56, 56}));
  EXPECT_EQ(shape_at(graph, "layer2.0.conv1"), (Shape{2, 128, 56, 56}));  // the stride is in the 3x3
  EXPECT_EQ(shape_at(graph, "layer2.0.conv2"), (Shape{2, 128, 28, 28}));
  EXPECT_EQ(shape_at(graph, "layer4.2.conv3"), (Shape{2, 2048, 7, 7}));
  EXPECT_EQ(shape_at(graph, "pool"), (Shape{2, 2048, 1, 1}));
}

TEST(Resnet50, DoesTheKnownWork) {
  // 4.09 G multiply-adds an image forward; three times that a step, less the images' gradient.
  const double forward = summarize(build("resnet50")).flops;
  EXPECT_NEAR(forward, 2 * 4.09e9, 0.01e9);
  const Graph training = std::move(build_training_model("resnet50", {})).value();
  EXPECT_NEAR(summarize(training).flops, 3 * forward - 2 * 0.118e9, 0.01e9);
}

TEST(Resnet50, FusesReluIntoNormsAndResidualAdds) {
  const Graph graph = build("resnet50");
  int adds = 0;
  int norms = 0;
  int fused_norms = 0;
  for (const Op& op : graph.ops()) {
    EXPECT_NE(op.kind, OpKind::kRelu);
    adds += op.kind == OpKind::kAdd && op.attributes.relu ? 1 : 0;
    norms += op.kind == OpKind::kBatchNorm ? 1 : 0;
    fused_norms += op.kind == OpKind::kBatchNorm && op.attributes.relu ? 1 : 0;
  }
  EXPECT_EQ(adds, 16);
  EXPECT_EQ(norms, 53);
  EXPECT_EQ(fused_norms, 33);  // the stem, and the first two of each block
}

TEST(ResnetV2, NormalisesBeforeConvolutionsAndLeavesTheSumAlone) {
  const Graph graph = build("resnet50_v2", {.batch = 2, .image_size = 32, .classes = 10});
  int norms = 0;
  for (const Op& op : graph.ops()) {
    EXPECT_FALSE(op.kind == OpKind::kAdd && op.attributes.relu);
    if (op.kind != OpKind::kBatchNorm) continue;
    ++norms;
    EXPECT_TRUE(op.attributes.relu);
  }
  EXPECT_EQ(norms, 16 * 3 + 1);
  EXPECT_EQ(shape_at(graph, "pool"), (Shape{2, 2048, 1, 1}));
}

TEST(CifarResnet, DepthsCountConvolutionsAndTheClassifier) {
  for (const int depth : {20, 32, 44, 56, 110}) {
    const Graph graph = build("resnet" + std::to_string(depth));
    const auto on_main_path = std::count_if(graph.layers.begin(), graph.layers.end(), [](const std::string& layer) {
      return layer.find("conv") != std::string::npos || layer == "fc";
    });
    EXPECT_EQ(on_main_path, depth);
  }
}

TEST(ImageNetResnet, DepthsCountConvolutionsAndTheClassifier) {
  for (const std::string suffix : {"", "_v2"}) {
    for (const int depth : {50, 101, 152, 200}) {
      const Graph graph = build("resnet" + std::to_string(depth) + suffix);
      const auto on_main_path = std::count_if(graph.layers.begin(), graph.layers.end(), [](const std::string& layer) {
        return layer.find("conv") != std::string::npos || layer == "fc";
      });
      EXPECT_EQ(on_main_path, depth) << suffix;
    }
  }
}

TEST(Plain20, HasNoShortcuts) {
  const Graph graph = build("plain20");
  for (const Op& op : graph.ops()) EXPECT_NE(op.kind, OpKind::kAdd);
}

TEST(Vgg, FlattensToSevenBySevenAt224AndFollowsTheImageSize) {
  EXPECT_EQ(shape_at(build("vgg16"), "pool5"), (Shape{1, 512, 7, 7}));
  EXPECT_EQ(shape_at(build("vgg16", {.batch = 1, .image_size = 32}), "pool5"), (Shape{1, 512, 1, 1}));
}

TEST(Vgg, TrainsWithNoDenseOperandAboveTheSliceLimit) {
  const Graph graph = std::move(build_training_model("vgg16", {})).value();
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.role == Role::kActivation || tensor.role == Role::kActivationGradient) continue;
    EXPECT_LE(tensor.bytes, kDenseSliceLimit) << tensor.name;
  }
  EXPECT_EQ(summarize(graph).parameters, 138357544);
}

TEST(ModelErrors, UnknownNamesGetASuggestionAndTheList) {
  const std::string message = error_of("resnet_50", {});
  EXPECT_NE(message.find("unknown model 'resnet_50'; did you mean 'resnet50'?"), std::string::npos) << message;
  for (const ModelEntry& entry : models()) EXPECT_NE(message.find(entry.name), std::string::npos) << entry.name;
  EXPECT_NE(error_of("VGG16", {}).find("did you mean 'vgg16'?"), std::string::npos);
  EXPECT_NE(error_of("", {}).find("unknown model ''"), std::string::npos);
}

TEST(ModelErrors, OutOfRangeOptionsNameModelOptionRangeAndValue) {
  EXPECT_EQ(error_of("resnet20", {.batch = 0}), "resnet20: batch must be from 1 to 1048576, got 0");
  EXPECT_EQ(error_of("resnet20", {.batch = -4}), "resnet20: batch must be from 1 to 1048576, got -4");
  EXPECT_EQ(error_of("resnet50", {.batch = 1, .image_size = 31}),
            "resnet50: image size must be from 32 to 8192, got 31");
  EXPECT_EQ(error_of("resnet20", {.batch = 1, .image_size = -32}),
            "resnet20: image size must be from 8 to 8192, got -32");
  EXPECT_EQ(error_of("vgg16", {.batch = 1, .image_size = 100}), "vgg16: image size must be a multiple of 32, got 100");
  EXPECT_EQ(error_of("vgg16", {.batch = 1, .classes = -1}), "vgg16: classes must be from 1 to 16777216, got -1");
  EXPECT_EQ(build_training_model("resnet20", {.batch = 0}).error().message,
            "resnet20: batch must be from 1 to 1048576, got 0");
}

TEST(ModelErrors, SmallestAllowedImagesBuild) {
  for (const ModelEntry& entry : models()) {
    const std::int64_t smallest = entry.default_image_size == 32 ? 8 : 32;
    EXPECT_TRUE(build_model(entry.name, {.batch = 1, .image_size = smallest}).ok()) << entry.name;
  }
}

}  // namespace
}  // namespace sluice
