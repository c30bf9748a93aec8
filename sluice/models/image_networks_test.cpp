#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/rewrite/slice_dense.hpp"
#include "sluice/graph/summary.hpp"
#include "sluice/models/model.hpp"

namespace sluice::models {
namespace {

graph::Graph build(std::string_view name, const ModelOptions& options = {}) {
  return std::move(build_model(name, options)).value();
}

// Shape of the first result of the first op of a layer.
graph::Shape shape_at(const graph::Graph& graph, const std::string& layer) {
  for (const graph::Op& op : graph.ops()) {
    if (graph.layers[as_index(op.layer)] == layer) return graph.tensor(op.outputs[0]).shape;
  }
  return {};
}

std::int64_t count(const graph::Graph& graph, graph::OpKind kind) {
  return std::ranges::count(graph.ops(), kind, &graph::Op::kind);
}

// Shape of the last concat of the layers whose names begin so: what a module of branches makes.
graph::Shape module_shape(const graph::Graph& graph, const std::string& block) {
  graph::Shape shape;
  for (const graph::Op& op : graph.ops()) {
    const std::string& layer = graph.layers[as_index(op.layer)];
    if (op.kind == graph::OpKind::kConcat && layer.starts_with(block + ".")) shape = graph.tensor(op.outputs[0]).shape;
  }
  return shape;
}

std::int64_t main_path_layers(const graph::Graph& graph) {
  return std::ranges::count_if(
      graph.layers, [](const std::string& layer) { return layer.find("conv") != std::string::npos || layer == "fc"; });
}

TEST(Resnet50, HasThePaperStageSizes) {
  const graph::Graph graph = build("resnet50", {.batch = 2});
  EXPECT_EQ(shape_at(graph, "conv1"), (graph::Shape{2, 64, 112, 112}));
  EXPECT_EQ(shape_at(graph, "layer1.2.conv3"), (graph::Shape{2, 256, 56, 56}));
  EXPECT_EQ(shape_at(graph, "layer2.0.conv1"), (graph::Shape{2, 128, 56, 56}));  // the stride is in the 3x3
  EXPECT_EQ(shape_at(graph, "layer2.0.conv2"), (graph::Shape{2, 128, 28, 28}));
  EXPECT_EQ(shape_at(graph, "layer4.2.conv3"), (graph::Shape{2, 2048, 7, 7}));
  EXPECT_EQ(shape_at(graph, "pool"), (graph::Shape{2, 2048, 1, 1}));
}

TEST(Resnet50, DoesTheKnownWork) {
  // 4.09 G multiply-adds an image forward; three times that a step, less the images' gradient.
  const double forward = graph::summarize(build("resnet50")).flops;
  EXPECT_NEAR(forward, 2 * 4.09e9, 0.01e9);
  const graph::Graph training = std::move(build_training_model("resnet50", {})).value();
  EXPECT_NEAR(graph::summarize(training).flops, 3 * forward - 2 * 0.118e9, 0.01e9);
}

TEST(Resnet50, FusesReluIntoNormsAndResidualAdds) {
  const graph::Graph graph = build("resnet50");
  EXPECT_EQ(count(graph, graph::OpKind::kRelu), 0);
  const auto fused = [&](graph::OpKind kind) {
    return std::ranges::count_if(graph.ops(), [&](const graph::Op& op) {
      return op.kind == kind && graph::fused_activation(op.attributes) == graph::Activation::kRelu;
    });
  };
  EXPECT_EQ(fused(graph::OpKind::kAdd), 16);
  EXPECT_EQ(count(graph, graph::OpKind::kBatchNorm), 53);
  EXPECT_EQ(fused(graph::OpKind::kBatchNorm), 33);  // the stem, and the first two of each block
}

TEST(ResnetV2, NormalisesBeforeConvolutionsAndLeavesTheSumAlone) {
  const graph::Graph graph = build("resnet50_v2", {.batch = 2, .image_size = 32, .classes = 10});
  for (const graph::Op& op : graph.ops()) {
    if (op.kind == graph::OpKind::kAdd) {
      EXPECT_EQ(graph::fused_activation(op.attributes), graph::Activation::kNone);
    }
    if (op.kind == graph::OpKind::kBatchNorm) {
      EXPECT_EQ(graph::fused_activation(op.attributes), graph::Activation::kRelu);
    }
  }
  EXPECT_EQ(count(graph, graph::OpKind::kBatchNorm), 16 * 3 + 1);
  EXPECT_EQ(shape_at(graph, "pool"), (graph::Shape{2, 2048, 1, 1}));
}

TEST(CifarResnet, DepthsCountConvolutionsAndTheClassifier) {
  for (const int depth : {20, 32, 44, 56, 110}) {
    EXPECT_EQ(main_path_layers(build("resnet" + std::to_string(depth))), depth);
  }
  EXPECT_EQ(main_path_layers(build("resnet20", {.depth = 5})), 32);
}

TEST(ImageNetResnet, DepthsCountConvolutionsAndTheClassifier) {
  for (const std::string suffix : {"", "_v2"}) {
    for (const int depth : {50, 101, 152, 200}) {
      EXPECT_EQ(main_path_layers(build("resnet" + std::to_string(depth) + suffix)), depth) << suffix;
    }
  }
}

TEST(Plain20, HasNoShortcuts) { EXPECT_EQ(count(build("plain20"), graph::OpKind::kAdd), 0); }

TEST(Vgg, FlattensToSevenBySevenAt224AndFollowsTheImageSize) {
  EXPECT_EQ(shape_at(build("vgg16"), "pool5"), (graph::Shape{1, 512, 7, 7}));
  EXPECT_EQ(shape_at(build("vgg16", {.image_size = 32}), "pool5"), (graph::Shape{1, 512, 1, 1}));
}

TEST(Vgg, TrainsWithNoDenseOperandAboveTheSliceLimit) {
  const graph::Graph graph = std::move(build_training_model("vgg16", {})).value();
  for (const graph::Tensor& tensor : graph.tensors()) {
    if (tensor.role == graph::Role::kActivation || tensor.role == graph::Role::kActivationGradient) continue;
    EXPECT_LE(tensor.bytes, graph::kDenseSliceLimit) << tensor.name;
  }
  EXPECT_EQ(graph::summarize(graph).parameters, 138357544);
}

TEST(Vgg416, HasFourHundredMoreConvolutionsThanVgg16) {
  const graph::Graph graph = build("vgg416");
  EXPECT_EQ(count(graph, graph::OpKind::kConv2d), 13 + 400);
  EXPECT_EQ(count(graph, graph::OpKind::kConv2d) + count(graph, graph::OpKind::kDense), 416);
  EXPECT_EQ(shape_at(graph, "conv5_83"), (graph::Shape{1, 512, 14, 14}));
}

TEST(GoogLeNet, HasThePaperMapSizes) {
  const graph::Graph graph = build("googlenet");
  EXPECT_EQ(shape_at(graph, "maxpool2"), (graph::Shape{1, 192, 28, 28}));
  EXPECT_EQ(module_shape(graph, "inception3a"), (graph::Shape{1, 256, 28, 28}));
  EXPECT_EQ(module_shape(graph, "inception4e"), (graph::Shape{1, 832, 14, 14}));
  EXPECT_EQ(module_shape(graph, "inception5b"), (graph::Shape{1, 1024, 7, 7}));
  EXPECT_EQ(count(graph, graph::OpKind::kLocalResponseNorm), 2);
}

TEST(InceptionV3, HasThePaperGridSizes) {
  const graph::Graph graph = build("inception_v3");
  EXPECT_EQ(shape_at(graph, "maxpool2"), (graph::Shape{1, 192, 35, 35}));
  EXPECT_EQ(module_shape(graph, "mixed5b"), (graph::Shape{1, 256, 35, 35}));
  EXPECT_EQ(module_shape(graph, "mixed5d"), (graph::Shape{1, 288, 35, 35}));
  EXPECT_EQ(module_shape(graph, "mixed6e"), (graph::Shape{1, 768, 17, 17}));
  EXPECT_EQ(module_shape(graph, "mixed7a"), (graph::Shape{1, 1280, 8, 8}));
  EXPECT_EQ(module_shape(graph, "mixed7c"), (graph::Shape{1, 2048, 8, 8}));
}

TEST(InceptionV4, HasThePaperGridSizes) {
  const graph::Graph graph = build("inception_v4");
  EXPECT_EQ(module_shape(graph, "stem1"), (graph::Shape{1, 160, 73, 73}));
  EXPECT_EQ(module_shape(graph, "stem2"), (graph::Shape{1, 192, 71, 71}));
  EXPECT_EQ(module_shape(graph, "stem3"), (graph::Shape{1, 384, 35, 35}));
  EXPECT_EQ(module_shape(graph, "inception_a4"), (graph::Shape{1, 384, 35, 35}));
  EXPECT_EQ(module_shape(graph, "inception_b7"), (graph::Shape{1, 1024, 17, 17}));
  EXPECT_EQ(module_shape(graph, "inception_c3"), (graph::Shape{1, 1536, 8, 8}));
}

TEST(DenseNet, IsAChainOfConcatsOfTwo) {
  const graph::Graph graph = build("densenet121");
  EXPECT_EQ(count(graph, graph::OpKind::kConcat), 6 + 12 + 24 + 16);
  for (const graph::Op& op : graph.ops()) {
    if (op.kind == graph::OpKind::kConcat) {
      EXPECT_EQ(op.inputs.size(), 2U);
    }
  }
  EXPECT_EQ(module_shape(graph, "block1.5"), (graph::Shape{1, 256, 56, 56}));
  EXPECT_EQ(shape_at(graph, "norm"), (graph::Shape{1, 1024, 7, 7}));
}

TEST(MobileNet, DoesThePublishedWork) {
  EXPECT_NEAR(graph::summarize(build("mobilenet_v1")).flops, 2 * 569e6, 2 * 1e6);
  EXPECT_NEAR(graph::summarize(build("mobilenet_v2")).flops, 2 * 300e6, 2 * 2e6);
}

TEST(MobileNetV2, ScalesChannelsAsTorchvisionDoes) {
  // torchvision's counts at width_mult 0.5 and 1.5.
  EXPECT_EQ(graph::summarize(build("mobilenet_v2", {.width = 16})).parameters, 1968680);
  EXPECT_EQ(graph::summarize(build("mobilenet_v2", {.width = 48})).parameters, 6858152);
}

TEST(SqueezeNet, HasTheAuthorsMapSizes) {
  const graph::Graph graph = build("squeezenet1_1");
  EXPECT_EQ(shape_at(graph, "pool1"), (graph::Shape{1, 64, 55, 55}));
  EXPECT_EQ(module_shape(graph, "fire3"), (graph::Shape{1, 128, 55, 55}));
  EXPECT_EQ(module_shape(graph, "fire9"), (graph::Shape{1, 512, 13, 13}));
}

TEST(ImageModels, DropNothingUnlessAsked) {
  for (const char* name : {"vgg16", "googlenet", "inception_v3", "densenet121", "mobilenet_v2", "squeezenet1_1"}) {
    EXPECT_EQ(count(build(name), graph::OpKind::kDropout), 0) << name;
    EXPECT_GT(count(build(name, {.dropout = 0.2F}), graph::OpKind::kDropout), 0) << name;
  }
}

}  // namespace
}  // namespace sluice::models
