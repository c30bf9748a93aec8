#include <fmt/format.h>

#include <algorithm>

#include "sluice/graph/builder.hpp"
#include "sluice/models/blocks.hpp"
#include "sluice/models/networks.hpp"

namespace sluice {
namespace {

constexpr std::int64_t kHiddenFeatures = 4096;

TensorId conv_stage(GraphBuilder& builder, TensorId x, std::size_t stage, int convolutions) {
  const std::int64_t channels = std::min<std::int64_t>(512, std::int64_t{64} << stage);
  for (int i = 0; i < convolutions; ++i) {
    builder.begin_layer(fmt::format("conv{}_{}", stage + 1, i + 1));
    x = builder.relu(builder.conv2d(x, {.out_channels = channels, .kernel = 3, .padding = 1, .bias = true}));
  }
  builder.begin_layer(fmt::format("pool{}", stage + 1));
  return builder.max_pool(x, {.kernel = 2, .stride = 2});
}

}  // namespace

Result<Graph> build_vgg(const std::string& name, const ModelOptions& options, const std::vector<int>& convolutions) {
  GraphBuilder builder(name);
  TensorId x = image_input(builder, options.batch, options.image_size);
  for (std::size_t stage = 0; stage < convolutions.size(); ++stage) {
    x = conv_stage(builder, x, stage, convolutions[stage]);
  }
  for (const char* layer : {"fc1", "fc2"}) {
    builder.begin_layer(layer);
    x = builder.relu(builder.dense(x, kHiddenFeatures));
  }
  builder.begin_layer("fc3");
  builder.softmax_cross_entropy(builder.dense(x, options.classes));
  return builder.finish();
}

}  // namespace sluice
