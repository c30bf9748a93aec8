#include <fmt/format.h>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/blocks.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

struct ImageNetBlock {
  std::string layer;
  std::vector<graph::Conv2dOptions> convolutions;
  graph::Conv2dOptions projection;
  bool project = false;
};

ImageNetBlock make_block(const ImageNetResnet& net, std::int64_t first_width, std::size_t stage, int i) {
  const std::int64_t width = first_width << stage;
  const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
  const std::int64_t out = net.bottleneck ? 4 * width : width;
  const graph::Conv2dOptions strided{.out_channels = width, .kernel = 3, .stride = stride, .padding = 1};
  ImageNetBlock block;
  block.layer = fmt::format("layer{}.{}", stage + 1, i);
  if (net.bottleneck) {
    block.convolutions = {{.out_channels = width}, strided, {.out_channels = out}};
  } else {
    block.convolutions = {strided, {.out_channels = width, .kernel = 3, .padding = 1}};
  }
  block.projection = {.out_channels = out, .stride = stride};
  block.project = i == 0 && (stage > 0 || net.bottleneck);
  return block;
}

std::string conv_layer(const ImageNetBlock& block, std::size_t i) {
  return fmt::format("{}.conv{}", block.layer, i + 1);
}

// The shortcut stands just before the block's last convolution, so that it is short-lived in the forward pass.
graph::TensorId block_v1(graph::GraphBuilder& builder, graph::TensorId x, const ImageNetBlock& block) {
  graph::TensorId y = x;
  const std::size_t last = block.convolutions.size() - 1;
  for (std::size_t i = 0; i < last; ++i) {
    y = conv_norm(builder, conv_layer(block, i), y, block.convolutions[i], graph::Activation::kRelu);
  }
  graph::TensorId shortcut = x;
  if (block.project)
    shortcut = conv_norm(builder, block.layer + ".downsample", x, block.projection, graph::Activation::kNone);
  y = conv_norm(builder, conv_layer(block, last), y, block.convolutions[last], graph::Activation::kNone);
  return builder.add(y, shortcut, graph::Activation::kRelu);
}

graph::TensorId block_v2(graph::GraphBuilder& builder, graph::TensorId x, const ImageNetBlock& block) {
  graph::TensorId y = x;
  graph::TensorId activated = x;
  graph::TensorId shortcut = x;
  const std::size_t last = block.convolutions.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    if (i == last && block.project) {
      builder.begin_layer(block.layer + ".downsample");
      shortcut = builder.conv2d(activated, block.projection);
    }
    builder.begin_layer(conv_layer(block, i));
    y = builder.batch_norm(y, graph::Activation::kRelu);
    if (i == 0) activated = y;
    y = builder.conv2d(y, block.convolutions[i]);
  }
  return builder.add(y, shortcut);
}

graph::TensorId stem(graph::GraphBuilder& builder, graph::TensorId images, std::int64_t width, bool preactivation) {
  builder.begin_layer("conv1");
  graph::TensorId x = builder.conv2d(images, {.out_channels = width, .kernel = 7, .stride = 2, .padding = 3});
  if (!preactivation) x = builder.batch_norm(x, graph::Activation::kRelu);
  builder.begin_layer("maxpool");
  return builder.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
}

}  // namespace

Result<graph::Graph> build_imagenet_resnet(const std::string& name, const ModelOptions& options,
                                           const ImageNetResnet& net) {
  graph::GraphBuilder builder(name);
  graph::TensorId x = image_input(builder, options.batch, options.image_size, options.classes);
  x = stem(builder, x, options.width, net.preactivation);
  for (std::size_t stage = 0; stage < net.blocks.size(); ++stage) {
    for (int i = 0; i < net.blocks[stage]; ++i) {
      const ImageNetBlock block = make_block(net, options.width, stage, i);
      x = net.preactivation ? block_v2(builder, x, block) : block_v1(builder, x, block);
    }
  }
  if (net.preactivation) {
    builder.begin_layer("norm");
    x = builder.batch_norm(x, graph::Activation::kRelu);
  }
  pooled_classifier(builder, x, options.classes);
  return builder.finish();
}

}  // namespace sluice::models
