#include <fmt/format.h>

#include <array>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/blocks.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

constexpr std::int64_t kGooglenetWidth = 64;

// 3x3, stride 2; also where only part of the window is on the map.
graph::TensorId shrink(graph::GraphBuilder& builder, const std::string& layer, graph::TensorId x) {
  builder.begin_layer(layer);
  graph::PoolAttributes attributes;
  attributes.window = graph::square_window(3, 2);
  if (!builder.failed()) {
    attributes.window.pad_bottom = builder.shape(x)[2] % 2 == 0 ? 1 : 0;
    attributes.window.pad_right = builder.shape(x)[3] % 2 == 0 ? 1 : 0;
  }
  return builder.add(graph::OpKind::kMaxPool, attributes, {x});
}

// Krizhevsky et al. 2012's constants.
graph::TensorId normalise_responses(graph::GraphBuilder& builder, graph::TensorId x) {
  return builder.local_response_norm(x, 5, 1e-4F, 0.75F, 1);
}

// Table 1's columns: channels of the 1x1 convolution, before and of the 3x3, before and of the 5x5, behind the pool.
struct Module {
  const char* name;
  std::int64_t points, before_3x3, areas_3x3, before_5x5, areas_5x5, pooled;
};

class Modules {
 public:
  Modules(graph::GraphBuilder& builder, std::int64_t width) : builder_(builder), width_(width) {}

  graph::TensorId conv(const std::string& layer, graph::TensorId x, std::int64_t channels, std::int64_t kernel) {
    return conv_relu(
        builder_, layer, x,
        {.out_channels = scaled(channels, width_, kGooglenetWidth), .kernel = kernel, .padding = kernel / 2});
  }

  graph::TensorId add(const Module& module, graph::TensorId x) {
    const std::string block = fmt::format("inception{}", module.name);
    const graph::TensorId points = conv(block + ".conv1x1", x, module.points, 1);
    graph::TensorId y = conv(block + ".conv3x3_1", x, module.before_3x3, 1);
    const graph::TensorId areas_3x3 = conv(block + ".conv3x3_2", y, module.areas_3x3, 3);
    y = conv(block + ".conv5x5_1", x, module.before_5x5, 1);
    const graph::TensorId areas_5x5 = conv(block + ".conv5x5_2", y, module.areas_5x5, 5);
    builder_.begin_layer(block + ".maxpool");
    y = builder_.max_pool(x, {.kernel = 3, .stride = 1, .padding = 1});
    const graph::TensorId pooled = conv(block + ".pool", y, module.pooled, 1);
    return builder_.concat({points, areas_3x3, areas_5x5, pooled}, 1);
  }

 private:
  graph::GraphBuilder& builder_;
  std::int64_t width_;
};

graph::TensorId stem(graph::GraphBuilder& builder, Modules& net, graph::TensorId x, std::int64_t width) {
  x = conv_relu(builder, "conv1", x, {.out_channels = width, .kernel = 7, .stride = 2, .padding = 3});
  x = normalise_responses(builder, shrink(builder, "maxpool1", x));
  x = net.conv("conv2_reduce", x, 64, 1);
  x = normalise_responses(builder, net.conv("conv2", x, 192, 3));
  return shrink(builder, "maxpool2", x);
}

}  // namespace

Result<graph::Graph> build_googlenet(const std::string& name, const ModelOptions& options) {
  constexpr std::array<Module, 9> kModules{{{"3a", 64, 96, 128, 16, 32, 32},
                                            {"3b", 128, 128, 192, 32, 96, 64},
                                            {"4a", 192, 96, 208, 16, 48, 64},
                                            {"4b", 160, 112, 224, 24, 64, 64},
                                            {"4c", 128, 128, 256, 24, 64, 64},
                                            {"4d", 112, 144, 288, 32, 64, 64},
                                            {"4e", 256, 160, 320, 32, 128, 128},
                                            {"5a", 256, 160, 320, 32, 128, 128},
                                            {"5b", 384, 192, 384, 48, 128, 128}}};
  graph::GraphBuilder builder(name);
  Modules net(builder, options.width);
  graph::TensorId x = image_input(builder, options.batch, options.image_size, options.classes);
  x = stem(builder, net, x, options.width);
  for (const Module& module : kModules) {
    x = net.add(module, x);
    if (std::string_view(module.name) == "3b") x = shrink(builder, "maxpool3", x);
    if (std::string_view(module.name) == "4e") x = shrink(builder, "maxpool4", x);
  }
  pooled_classifier(builder, x, options.classes, options.dropout);
  return builder.finish();
}

}  // namespace sluice::models
