#include <fmt/format.h>

#include <array>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/blocks.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

constexpr std::int64_t kSqueezenetWidth = 64;
constexpr float kLastStddev = 0.01F;

// A 1x1 convolution to few channels, then 1x1 and 3x3 convolutions of it side by side.
graph::TensorId fire(graph::GraphBuilder& builder, const std::string& block, graph::TensorId x, std::int64_t squeezed,
                     std::int64_t expanded) {
  const graph::TensorId narrow = conv_relu(builder, block + ".squeeze", x, {.out_channels = squeezed});
  const graph::TensorId points = conv_relu(builder, block + ".expand1x1", narrow, {.out_channels = expanded});
  const graph::TensorId areas =
      conv_relu(builder, block + ".expand3x3", narrow, {.out_channels = expanded, .kernel = 3, .padding = 1});
  return builder.concat({points, areas}, 1);
}

}  // namespace

Result<graph::Graph> build_squeezenet(const std::string& name, const ModelOptions& options) {
  struct Fire {
    std::int64_t squeezed, expanded;
    bool pool_before;
  };
  constexpr std::array<Fire, 8> kFires{{{16, 64, true},
                                        {16, 64, false},
                                        {32, 128, true},
                                        {32, 128, false},
                                        {48, 192, true},
                                        {48, 192, false},
                                        {64, 256, false},
                                        {64, 256, false}}};
  graph::GraphBuilder builder(name);
  graph::TensorId x = image_input(builder, options.batch, options.image_size, options.classes);
  x = conv_relu(builder, "conv1", x, {.out_channels = options.width, .kernel = 3, .stride = 2});
  int pools = 0;
  for (std::size_t i = 0; i < kFires.size(); ++i) {
    const Fire& shape = kFires[i];
    if (shape.pool_before) {
      builder.begin_layer(fmt::format("pool{}", ++pools));
      x = builder.max_pool(x, {.kernel = 3, .stride = 2});
    }
    x = fire(builder, fmt::format("fire{}", i + 2), x, scaled(shape.squeezed, options.width, kSqueezenetWidth),
             scaled(shape.expanded, options.width, kSqueezenetWidth));
  }
  builder.begin_layer("conv10");
  builder.weight_init(kLastStddev);
  x = builder.conv2d(builder.dropout(x, options.dropout),
                     {.out_channels = options.classes, .bias = true, .activation = graph::Activation::kRelu});
  builder.begin_layer("loss");
  x = builder.reshape(builder.global_avg_pool(x), {options.batch, options.classes});
  builder.softmax_cross_entropy(x);
  return builder.finish();
}

}  // namespace sluice::models
