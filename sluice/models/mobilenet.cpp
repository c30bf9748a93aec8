#include <fmt/format.h>

#include <array>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/blocks.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

constexpr std::int64_t kMobilenetWidth = 32;

graph::Conv2dOptions depthwise(std::int64_t channels, std::int64_t stride) {
  return {.out_channels = channels, .kernel = 3, .stride = stride, .padding = 1, .groups = channels};
}

// Sandler et al. 2018: channels are multiples of 8, never more than 10% below the exact number.
std::int64_t rounded_channels(std::int64_t channels, std::int64_t width) {
  const std::int64_t exact = channels * width;
  const std::int64_t rounded = std::max<std::int64_t>(8, (exact / kMobilenetWidth + 4) / 8 * 8);
  return 10 * rounded * kMobilenetWidth < 9 * exact ? rounded + 8 : rounded;
}

struct Bottleneck {
  std::int64_t expansion = 1;
  std::int64_t out_channels = 0;
  std::int64_t stride = 1;
};

graph::TensorId inverted_residual(graph::GraphBuilder& builder, const std::string& block, graph::TensorId x,
                                  const Bottleneck& shape) {
  const std::int64_t channels = builder.failed() ? 1 : builder.shape(x)[1];
  const std::int64_t hidden = channels * shape.expansion;
  graph::TensorId y = x;
  if (shape.expansion > 1)
    y = conv_norm(builder, block + ".expand", y, {.out_channels = hidden}, graph::Activation::kRelu6);
  y = conv_norm(builder, block + ".depthwise", y, depthwise(hidden, shape.stride), graph::Activation::kRelu6);
  y = conv_norm(builder, block + ".project", y, {.out_channels = shape.out_channels}, graph::Activation::kNone);
  return shape.stride == 1 && channels == shape.out_channels ? builder.add(x, y) : y;
}

}  // namespace

Result<graph::Graph> build_mobilenet_v1(const std::string& name, const ModelOptions& options) {
  struct Layer {
    std::int64_t out_channels, stride;
  };
  constexpr std::array<Layer, 13> kLayers{{{64, 1},
                                           {128, 2},
                                           {128, 1},
                                           {256, 2},
                                           {256, 1},
                                           {512, 2},
                                           {512, 1},
                                           {512, 1},
                                           {512, 1},
                                           {512, 1},
                                           {512, 1},
                                           {1024, 2},
                                           {1024, 1}}};
  graph::GraphBuilder builder(name);
  graph::TensorId x = image_input(builder, options.batch, options.image_size, options.classes);
  std::int64_t channels = options.width;
  x = conv_norm(builder, "conv1", x, {.out_channels = channels, .kernel = 3, .stride = 2, .padding = 1},
                graph::Activation::kRelu);
  for (std::size_t i = 0; i < kLayers.size(); ++i) {
    const std::string block = fmt::format("block{}", i + 1);
    x = conv_norm(builder, block + ".depthwise", x, depthwise(channels, kLayers[i].stride), graph::Activation::kRelu);
    channels = scaled(kLayers[i].out_channels, options.width, kMobilenetWidth);
    x = conv_norm(builder, block + ".pointwise", x, {.out_channels = channels}, graph::Activation::kRelu);
  }
  pooled_classifier(builder, x, options.classes, options.dropout);
  return builder.finish();
}

Result<graph::Graph> build_mobilenet_v2(const std::string& name, const ModelOptions& options) {
  struct Repetition {
    std::int64_t expansion, out_channels, blocks, stride;
  };
  constexpr std::array<Repetition, 7> kStages{
      {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};
  graph::GraphBuilder builder(name);
  graph::TensorId x = image_input(builder, options.batch, options.image_size, options.classes);
  const graph::Conv2dOptions stem{
      .out_channels = rounded_channels(32, options.width), .kernel = 3, .stride = 2, .padding = 1};
  x = conv_norm(builder, "conv1", x, stem, graph::Activation::kRelu6);
  int block = 0;
  for (const Repetition& stage : kStages) {
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      const Bottleneck shape{stage.expansion, rounded_channels(stage.out_channels, options.width),
                             i == 0 ? stage.stride : 1};
      x = inverted_residual(builder, fmt::format("block{}", ++block), x, shape);
    }
  }
  // The last convolution is not made narrower, as in the paper.
  const std::int64_t last = rounded_channels(1280, std::max(options.width, kMobilenetWidth));
  x = conv_norm(builder, "conv_last", x, {.out_channels = last}, graph::Activation::kRelu6);
  pooled_classifier(builder, x, options.classes, options.dropout);
  return builder.finish();
}

}  // namespace sluice::models
