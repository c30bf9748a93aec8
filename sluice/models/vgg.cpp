#include <fmt/format.h>

#include <algorithm>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/blocks.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

constexpr std::int64_t kHiddenPerWidth = 64;  // 4096 features at the usual width of 64

graph::TensorId conv_stage(graph::GraphBuilder& builder, graph::TensorId x, std::size_t stage, std::int64_t channels,
                           std::int64_t convolutions) {
  for (std::int64_t i = 0; i < convolutions; ++i) {
    const std::string layer = fmt::format("conv{}_{}", stage + 1, i + 1);
    x = conv_relu(builder, layer, x, {.out_channels = channels, .kernel = 3, .padding = 1});
  }
  builder.begin_layer(fmt::format("pool{}", stage + 1));
  return builder.max_pool(x, {.kernel = 2, .stride = 2});
}

}  // namespace

Result<graph::Graph> build_vgg(const std::string& name, const ModelOptions& options,
                               const std::vector<int>& convolutions) {
  graph::GraphBuilder builder(name);
  graph::TensorId x = image_input(builder, options.batch, options.image_size, options.classes);
  for (std::size_t stage = 0; stage < convolutions.size(); ++stage) {
    const std::int64_t channels = options.width << std::min<std::size_t>(stage, 3);
    x = conv_stage(builder, x, stage, channels, convolutions[stage] + options.depth);
  }
  for (const char* layer : {"fc1", "fc2"}) {
    builder.begin_layer(layer);
    x = builder.relu(builder.dense(x, kHiddenPerWidth * options.width));
    x = builder.dropout(x, options.dropout);
  }
  builder.begin_layer("fc3");
  builder.softmax_cross_entropy(builder.dense(x, options.classes));
  return builder.finish();
}

}  // namespace sluice::models
