#include <fmt/format.h>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/blocks.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

// Norm, ReLU, convolution: the order of pre-activation.
graph::TensorId norm_conv(graph::GraphBuilder& builder, const std::string& layer, graph::TensorId x,
                          const graph::Conv2dOptions& options) {
  builder.begin_layer(layer);
  return builder.conv2d(builder.batch_norm(x, graph::Activation::kRelu), options);
}

graph::TensorId dense_block(graph::GraphBuilder& builder, graph::TensorId x, std::size_t block, int layers,
                            std::int64_t growth) {
  for (int i = 0; i < layers; ++i) {
    const std::string layer = fmt::format("block{}.{}", block + 1, i);
    graph::TensorId y = norm_conv(builder, layer + ".conv1", x, {.out_channels = 4 * growth});
    y = norm_conv(builder, layer + ".conv2", y, {.out_channels = growth, .kernel = 3, .padding = 1});
    x = builder.concat({x, y}, 1);
  }
  return x;
}

graph::TensorId transition(graph::GraphBuilder& builder, graph::TensorId x, std::size_t block) {
  const std::int64_t channels = builder.failed() ? 2 : builder.shape(x)[1];
  x = norm_conv(builder, fmt::format("transition{}", block + 1), x, {.out_channels = channels / 2});
  return builder.avg_pool(x, {.kernel = 2, .stride = 2});
}

}  // namespace

Result<graph::Graph> build_densenet(const std::string& name, const ModelOptions& options,
                                    const std::vector<int>& layers) {
  graph::GraphBuilder builder(name);
  graph::TensorId x = image_input(builder, options.batch, options.image_size, options.classes);
  const graph::Conv2dOptions stem{.out_channels = 2 * options.width, .kernel = 7, .stride = 2, .padding = 3};
  x = conv_norm(builder, "conv1", x, stem, graph::Activation::kRelu);
  builder.begin_layer("maxpool");
  x = builder.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
  for (std::size_t block = 0; block < layers.size(); ++block) {
    x = dense_block(builder, x, block, layers[block], options.width);
    if (block + 1 < layers.size()) x = transition(builder, x, block);
  }
  builder.begin_layer("norm");
  x = builder.batch_norm(x, graph::Activation::kRelu);
  pooled_classifier(builder, x, options.classes, options.dropout);
  return builder.finish();
}

}  // namespace sluice::models
