#include "sluice/models/catalog.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

Recipe cifar(const std::string& name, int blocks, bool shortcuts) {
  const std::string summary =
      shortcuts ? fmt::format("CIFAR ResNet v1 (He 2015): 3 x {} basic blocks, 1x1 projection shortcuts", blocks)
                : fmt::format("CIFAR plain network (He 2015): 3 x {} basic blocks without shortcuts", blocks);
  return {{name, summary, {.batch = 128, .image_size = 32, .classes = 10, .width = 16, .depth = blocks}},
          {.smallest_image = 8},
          [=](const std::string& model, const ModelOptions& o) { return build_cifar_resnet(model, o, shortcuts); }};
}

Recipe resnet(const std::string& name, const ImageNetResnet& net) {
  const std::string summary =
      fmt::format("ImageNet ResNet {}: {} {}, stride in the 3x3", net.preactivation ? "v2 (He 2016)" : "v1 (He 2015)",
                  net.bottleneck ? "bottlenecks" : "basic blocks", fmt::join(net.blocks, ","));
  return {{name, summary, {.batch = 32, .image_size = 224, .classes = 1000, .width = 64}},
          {.smallest_image = 32},
          [=](const std::string& model, const ModelOptions& o) { return build_imagenet_resnet(model, o, net); }};
}

// `more`: convolutions added to every stage; 0 where that is not an option.
Recipe vgg(const std::string& name, const std::string& summary, const std::vector<int>& convolutions, int more = 0) {
  ModelOptions defaults{.batch = 32, .image_size = 224, .classes = 1000, .width = 64, .depth = more, .dropout = 0};
  if (more > 0) defaults.batch = 128;
  return {{name, summary, defaults},
          {.smallest_image = 32, .image_multiple = 32},
          [=](const std::string& model, const ModelOptions& o) { return build_vgg(model, o, convolutions); }};
}

using Builder = Result<graph::Graph> (*)(const std::string&, const ModelOptions&);

Recipe images(const std::string& name, const std::string& summary, const ModelOptions& defaults,
              const OptionLimits& limits, Builder build) {
  return {{name, summary, defaults}, limits, build};
}

Recipe densenet(int depth, const std::vector<int>& layers) {
  const std::string summary =
      fmt::format("DenseNet-BC (Huang 2017): growth 32, blocks of {} layers", fmt::join(layers, ","));
  return {{fmt::format("densenet{}", depth),
           summary,
           {.batch = 32, .image_size = 224, .classes = 1000, .width = 32, .dropout = 0}},
          {.smallest_image = 32},
          [=](const std::string& model, const ModelOptions& o) { return build_densenet(model, o, layers); }};
}

constexpr OptionLimits kTransformerLimits{.longest_sequence = 1 << 16, .width_multiple = 64};

Recipe bert(const std::string& name, std::int64_t depth, std::int64_t width) {
  const std::string summary = fmt::format(
      "BERT (Devlin 2018): {} layers of {}, {} heads, masked-token loss, tied decoder", depth, width, width / 64);
  return {
      {name, summary, {.batch = 8, .classes = 30522, .sequence = 128, .width = width, .depth = depth, .dropout = 0.1F}},
      kTransformerLimits,
      build_bert};
}

Recipe gpt2(const std::string& name, const std::string& source, std::int64_t depth, std::int64_t width,
            std::int64_t batch) {
  const std::string summary = fmt::format("GPT-2 ({}): {} layers of {}, {} heads, next-token loss, tied decoder",
                                          source, depth, width, width / 64);
  return {{name,
           summary,
           {.batch = batch, .classes = 50257, .sequence = 1024, .width = width, .depth = depth, .dropout = 0.1F}},
          kTransformerLimits,
          build_gpt2};
}

// The configurations of "ZeRO-Offload: Democratizing billion-scale model training" (Ren 2021), by their size: layers,
// hidden features and batch per GPU. Heads are not given there; they have 64 features as in GPT-2.
std::vector<Recipe> zero_offload_gpt2() {
  struct Size {
    int billions;
    std::int64_t depth, width, batch;
  };
  const std::vector<Size> sizes = {{1, 20, 2048, 32}, {2, 40, 2048, 32},  {4, 64, 2304, 32}, {6, 53, 3072, 16},
                                   {8, 72, 3072, 16}, {10, 50, 4096, 10}, {11, 55, 4096, 8}, {12, 60, 4096, 4},
                                   {13, 65, 4096, 4}, {15, 78, 4096, 8},  {20, 25, 8192, 8}, {40, 50, 8192, 8},
                                   {60, 75, 8192, 8}, {70, 69, 9216, 8}};
  std::vector<Recipe> all;
  all.reserve(sizes.size());
  for (const Size& size : sizes) {
    all.push_back(
        gpt2(fmt::format("gpt2_{}b", size.billions), "ZeRO-Offload 2021", size.depth, size.width, size.batch));
  }
  return all;
}

std::vector<Recipe> residual_networks() {
  return {
      cifar("resnet20", 3, true),
      cifar("resnet32", 5, true),
      cifar("resnet44", 7, true),
      cifar("resnet56", 9, true),
      cifar("resnet110", 18, true),
      cifar("plain20", 3, false),
      resnet("resnet18", {.blocks = {2, 2, 2, 2}, .bottleneck = false}),
      resnet("resnet34", {.blocks = {3, 4, 6, 3}, .bottleneck = false}),
      resnet("resnet50", {.blocks = {3, 4, 6, 3}}),
      resnet("resnet101", {.blocks = {3, 4, 23, 3}}),
      resnet("resnet152", {.blocks = {3, 8, 36, 3}}),
      resnet("resnet200", {.blocks = {3, 24, 36, 3}}),
      resnet("resnet50_v2", {.blocks = {3, 4, 6, 3}, .preactivation = true}),
      resnet("resnet101_v2", {.blocks = {3, 4, 23, 3}, .preactivation = true}),
      resnet("resnet152_v2", {.blocks = {3, 8, 36, 3}, .preactivation = true}),
      resnet("resnet200_v2", {.blocks = {3, 24, 36, 3}, .preactivation = true}),
  };
}

std::vector<Recipe> other_image_networks() {
  const ModelOptions imagenet{.batch = 32, .image_size = 224, .classes = 1000, .width = 32, .dropout = 0};
  ModelOptions inception = imagenet;
  inception.image_size = 299;
  ModelOptions googlenet = imagenet;
  googlenet.width = 64;
  const ModelOptions& squeezenet = googlenet;
  const auto vgg_summary = [](const char* configuration) {
    return fmt::format("VGG configuration {} (Simonyan 2014): biases, no batch norm", configuration);
  };
  return {
      vgg("vgg11", vgg_summary("A"), {1, 1, 2, 2, 2}),
      vgg("vgg16", vgg_summary("D"), {2, 2, 3, 3, 3}),
      vgg("vgg19", vgg_summary("E"), {2, 2, 4, 4, 4}),
      vgg("vgg416", "VGG configuration D with 80 more 3x3 convolutions a stage (AutoTM 2020, section 5.2)",
          {2, 2, 3, 3, 3}, 80),
      images("googlenet", "GoogLeNet (Szegedy 2014): local response norms, no auxiliary classifiers", googlenet,
             {.smallest_image = 32}, build_googlenet),
      images("inception_v3", "Inception v3 (Szegedy 2015), no auxiliary classifier", inception, {.smallest_image = 75},
             build_inception_v3),
      images("inception_v4", "Inception v4 (Szegedy 2016)", inception, {.smallest_image = 75}, build_inception_v4),
      densenet(121, {6, 12, 24, 16}),
      densenet(169, {6, 12, 32, 32}),
      densenet(201, {6, 12, 48, 32}),
      densenet(264, {6, 12, 64, 48}),
      images("mobilenet_v1", "MobileNet v1 (Howard 2017), width 1.0", imagenet, {.smallest_image = 32},
             build_mobilenet_v1),
      images("mobilenet_v2", "MobileNet v2 (Sandler 2018), width 1.0", imagenet,
             {.smallest_image = 32, .width_multiple = 8}, build_mobilenet_v2),
      images("squeezenet1_1", "SqueezeNet 1.1 (Iandola 2016)", squeezenet, {.smallest_image = 32}, build_squeezenet),
  };
}

std::vector<Recipe> generative_networks() {
  return {images("dcgan", "DCGAN (Radford 2015): discriminator, then generator, in one step; noise of 100 features",
                 {.batch = 128, .image_size = 64, .width = 64}, {.smallest_image = 8}, build_dcgan)};
}

std::vector<Recipe> language_networks() {
  const ModelOptions ptb{.batch = 20, .classes = 10000, .sequence = 35, .width = 650, .depth = 2, .dropout = 0.5F};
  return {
      {{"lstm", "LSTM language model (Zaremba 2014, medium): 2 layers of 650, Penn Treebank's vocabulary", ptb},
       {.longest_sequence = 4096},
       build_lstm},
      bert("bert_base", 12, 768),
      bert("bert_large", 24, 1024),
      gpt2("gpt2_small", "Radford 2019", 12, 768, 8),
      gpt2("gpt2_medium", "Radford 2019", 24, 1024, 8),
      gpt2("gpt2_large", "Radford 2019", 36, 1280, 8),
      gpt2("gpt2_xl", "Radford 2019", 48, 1600, 8),
  };
}

}  // namespace

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = [] {
    std::vector<Recipe> table;
    for (const auto& family : {residual_networks(), other_image_networks(), generative_networks(), language_networks(),
                               zero_offload_gpt2()}) {
      table.insert(table.end(), family.begin(), family.end());
    }
    return table;
  }();
  return all;
}

}  // namespace sluice::models
