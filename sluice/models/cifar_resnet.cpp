#include <fmt/format.h>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/blocks.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

struct CifarBlock {
  std::string layer;
  std::int64_t channels = 0;
  std::int64_t stride = 1;
  bool projection = false;
};

graph::Conv2dOptions conv3x3(std::int64_t channels, std::int64_t stride) {
  return {.out_channels = channels, .kernel = 3, .stride = stride, .padding = 1};
}

graph::TensorId residual_block(graph::GraphBuilder& builder, graph::TensorId x, const CifarBlock& block) {
  graph::TensorId y =
      conv_norm(builder, block.layer + ".conv1", x, conv3x3(block.channels, block.stride), graph::Activation::kRelu);
  graph::TensorId shortcut = x;
  if (block.projection) {
    const graph::Conv2dOptions projection{.out_channels = block.channels, .stride = block.stride};
    shortcut = conv_norm(builder, block.layer + ".downsample", x, projection, graph::Activation::kNone);
  }
  y = conv_norm(builder, block.layer + ".conv2", y, conv3x3(block.channels, 1), graph::Activation::kNone);
  return builder.add(y, shortcut, graph::Activation::kRelu);
}

graph::TensorId plain_block(graph::GraphBuilder& builder, graph::TensorId x, const CifarBlock& block) {
  const graph::TensorId y =
      conv_norm(builder, block.layer + ".conv1", x, conv3x3(block.channels, block.stride), graph::Activation::kRelu);
  return conv_norm(builder, block.layer + ".conv2", y, conv3x3(block.channels, 1), graph::Activation::kRelu);
}

}  // namespace

Result<graph::Graph> build_cifar_resnet(const std::string& name, const ModelOptions& options, bool shortcuts) {
  graph::GraphBuilder builder(name);
  graph::TensorId x = image_input(builder, options.batch, options.image_size, options.classes);
  x = conv_norm(builder, "conv1", x, conv3x3(options.width, 1), graph::Activation::kRelu);
  for (int stage = 0; stage < 3; ++stage) {
    for (int i = 0; i < options.depth; ++i) {
      const bool shrinks = stage > 0 && i == 0;
      const CifarBlock block{fmt::format("layer{}.{}", stage + 1, i), options.width << stage, shrinks ? 2 : 1, shrinks};
      x = shortcuts ? residual_block(builder, x, block) : plain_block(builder, x, block);
    }
  }
  pooled_classifier(builder, x, options.classes);
  return builder.finish();
}

}  // namespace sluice::models
