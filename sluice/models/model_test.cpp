#include "sluice/models/model.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/in_place.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/summary.hpp"
#include "sluice/testing/small_models.hpp"

namespace sluice::models {
namespace {

std::string error_of(std::string_view name, const ModelOptions& options) {
  const Result<graph::Graph> graph = build_model(name, options);
  if (graph.ok()) return "no error";
  EXPECT_EQ(graph.error().code, ErrorCode::kBadInput);
  return graph.error().message;
}

struct KnownCount {
  std::string name;
  std::int64_t parameters;
};

class ModelParameters : public ::testing::TestWithParam<KnownCount> {};

TEST_P(ModelParameters, EqualTheWellKnownCount) {
  const graph::Graph graph = std::move(build_model(GetParam().name, {})).value();
  EXPECT_EQ(graph::summarize(graph).parameters, GetParam().parameters);
}

// ImageNet models: torchvision's counts, and Keras' of MobileNet v1. CIFAR: the paper's network plus its projection
// shortcuts. Inception v4: Cadene's. GoogLeNet: Caffe's. VGG-416: 80 more convolutions a stage than VGG-16.
INSTANTIATE_TEST_SUITE_P(
    Images, ModelParameters,
    ::testing::Values(
        KnownCount{"resnet18", 11689512}, KnownCount{"resnet34", 21797672}, KnownCount{"resnet50", 25557032},
        KnownCount{"resnet101", 44549160}, KnownCount{"resnet152", 60192808}, KnownCount{"vgg11", 132863336},
        KnownCount{"vgg16", 138357544}, KnownCount{"vgg19", 143667240},
        KnownCount{"vgg416", 138357544 + 80 * (9 * (64 * 64 + 128 * 128 + 256 * 256 + 2 * 512 * 512) +
                                               (64 + 128 + 256 + 2 * 512))},
        KnownCount{"resnet20", 272474}, KnownCount{"plain20", 272474 - 2752}, KnownCount{"inception_v3", 23834568},
        KnownCount{"inception_v4", 42679816}, KnownCount{"densenet121", 7978856}, KnownCount{"densenet169", 14149480},
        KnownCount{"densenet201", 20013928}, KnownCount{"densenet264", 33337704}, KnownCount{"mobilenet_v1", 4231976},
        KnownCount{"mobilenet_v2", 3504872}, KnownCount{"squeezenet1_1", 1235496}, KnownCount{"googlenet", 6998552}),
    [](const auto& test_case) { return test_case.param.name; });

// GPT-2: OpenAI's checkpoints. BERT: the checkpoints' encoder (less the positions above 128) with the masked-token
// head. DCGAN: the generator and discriminator of PyTorch's example. LSTM: one bias a layer.
INSTANTIATE_TEST_SUITE_P(
    Others, ModelParameters,
    ::testing::Values(KnownCount{"gpt2_small", 124439808}, KnownCount{"gpt2_medium", 354823168},
                      KnownCount{"gpt2_large", 774030080}, KnownCount{"gpt2_xl", 1557611200},
                      KnownCount{"bert_base", 109514298 - (512 - 128) * 768},
                      KnownCount{"bert_large", 335174458 - (512 - 128) * 1024}, KnownCount{"dcgan", 3576704 + 2765568},
                      KnownCount{"lstm", 2 * 10000 * 650 + 10000 + 2 * (2 * 4 * 650 * 650 + 4 * 650)}),
    [](const auto& test_case) { return test_case.param.name; });

class EveryModel : public ::testing::TestWithParam<ModelEntry> {};

TEST_P(EveryModel, IsAValidTrainingGraph) {
  const ModelEntry& entry = GetParam();
  graph::Graph graph = std::move(build_training_model(entry.name, {.batch = entry.defaults.batch})).value();
  ASSERT_TRUE(graph::validate(graph).ok()) << graph::validate(graph).error().message;
  EXPECT_EQ(graph.name, entry.name);
  graph::merge_in_place(graph);
  EXPECT_TRUE(graph::validate(graph).ok()) << graph::validate(graph).error().message;
}

TEST_P(EveryModel, NamesTensorsAndLayersDistinctly) {
  const graph::Graph graph =
      std::move(build_training_model(GetParam().name, testing::small_options(GetParam()))).value();
  std::set<std::string> tensors;
  for (const graph::Tensor& tensor : graph.tensors()) EXPECT_TRUE(tensors.insert(tensor.name).second) << tensor.name;
  const std::set<std::string> layers(graph.layers.begin(), graph.layers.end());
  EXPECT_EQ(layers.size(), graph.layers.size());
}

TEST_P(EveryModel, RunsEachLayerOnceForwardAndOnceBackwardButInput) {
  const graph::Graph graph =
      std::move(build_training_model(GetParam().name, testing::small_options(GetParam()))).value();
  EXPECT_EQ(graph::analyze_liveness(graph).spans.size(), 2 * graph.layers.size() - 1);
}

TEST_P(EveryModel, FollowsItsOptions) {
  const ModelOptions small = testing::small_options(GetParam(), 3);
  const graph::Graph graph = std::move(build_model(GetParam().name, small)).value();
  ASSERT_TRUE(graph::validate(graph).ok()) << graph::validate(graph).error().message;
  const graph::Shape expected =
      small.sequence > 0 ? graph::Shape{3, 8} : graph::Shape{3, 3, small.image_size, small.image_size};
  EXPECT_EQ(graph.tensor(graph.op(0).outputs[0]).shape, expected);
  if (small.classes > 0) {
    EXPECT_EQ(graph.tensor(graph.ops().back().inputs[0]).shape.back(), small.classes);
  }
  const graph::Graph usual = std::move(build_model(GetParam().name, {})).value();
  EXPECT_LT(graph::summarize(graph).parameters, graph::summarize(usual).parameters);
}

TEST_P(EveryModel, TrainsEveryParameter) {
  const graph::Graph forward = std::move(build_model(GetParam().name, testing::small_options(GetParam()))).value();
  const graph::Graph graph = graph::build_training_graph(forward, {});
  std::set<graph::TensorId> updated;
  for (const graph::Op& op : graph.ops()) {
    if (op.phase == graph::Phase::kUpdate) updated.insert(op.outputs[0]);
  }
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (graph.tensor(id).role == graph::Role::kParameter) {
      EXPECT_TRUE(updated.contains(id)) << graph.tensor(id).name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryModel, ::testing::ValuesIn(models()),
                         [](const auto& test_case) { return test_case.param.name; });

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
  EXPECT_EQ(error_of("resnet50", {.image_size = 31}), "resnet50: image size must be from 32 to 8192, got 31");
  EXPECT_EQ(error_of("resnet20", {.image_size = -32}), "resnet20: image size must be from 8 to 8192, got -32");
  EXPECT_EQ(error_of("vgg16", {.image_size = 100}), "vgg16: image size must be a multiple of 32, got 100");
  EXPECT_EQ(error_of("vgg16", {.classes = -1}), "vgg16: classes must be from 1 to 16777216, got -1");
  EXPECT_EQ(error_of("gpt2_small", {.width = 100}), "gpt2_small: width must be a multiple of 64, got 100");
  EXPECT_EQ(error_of("bert_base", {.sequence = -1}), "bert_base: sequence must be from 1 to 65536, got -1");
  EXPECT_EQ(error_of("lstm", {.depth = 5000}), "lstm: depth must be from 1 to 4096, got 5000");
  EXPECT_EQ(error_of("lstm", {.dropout = 1}), "lstm: dropout must be at least 0 and below 1, got 1");
  EXPECT_EQ(error_of("dcgan", {.image_size = 48}), "dcgan: image size must be a power of two, got 48");
  EXPECT_EQ(build_training_model("resnet20", {.batch = 0}).error().message,
            "resnet20: batch must be from 1 to 1048576, got 0");
}

TEST(ModelErrors, OptionsThatTheModelDoesNotHaveAreRefusedWithThoseItHas) {
  EXPECT_EQ(error_of("resnet50", {.sequence = 8}),
            "resnet50 has no option 'sequence'; leave it out. It has: batch, image size, classes, width");
  EXPECT_EQ(error_of("resnet50", {.dropout = 0.5F}),
            "resnet50 has no option 'dropout'; leave it out. It has: batch, image size, classes, width");
  EXPECT_EQ(error_of("lstm", {.image_size = 32}),
            "lstm has no option 'image size'; leave it out. It has: batch, classes, sequence, width, depth, dropout");
  EXPECT_EQ(error_of("dcgan", {.classes = 10}),
            "dcgan has no option 'classes'; leave it out. It has: batch, image size, width");
  EXPECT_EQ(error_of("densenet121", {.depth = 3}),
            "densenet121 has no option 'depth'; leave it out. It has: batch, image size, classes, width, dropout");
}

TEST(ModelErrors, SmallestAllowedImagesBuild) {
  for (const ModelEntry& entry : models()) {
    if (entry.defaults.image_size == 0) continue;
    const std::int64_t usual = entry.defaults.image_size;
    const std::int64_t smallest = usual > 224 ? 75 : usual == 224 ? 32 : 8;
    EXPECT_TRUE(build_model(entry.name, {.image_size = smallest}).ok()) << entry.name;
  }
}

}  // namespace
}  // namespace sluice::models
