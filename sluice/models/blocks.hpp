// The layers that the built-in networks are made of. Each call that adds a convolution begins a model layer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "sluice/graph/builder/builder.hpp"

namespace sluice::models {

constexpr float kInceptionEpsilon = 1e-3F;  // of batch norms, in Google's image models

// A layer's channels in a network made `width` / `usual_width` times as wide as published; at least 1.
constexpr std::int64_t scaled(std::int64_t channels, std::int64_t width, std::int64_t usual_width) {
  return std::max<std::int64_t>(1, channels * width / usual_width);
}

// Convolution without bias, batch norm and the activation (fused into the norm) as one layer: the v1 order.
graph::TensorId conv_norm(graph::GraphBuilder& builder, const std::string& layer, graph::TensorId x,
                          const graph::Conv2dOptions& options, graph::Activation activation, float epsilon = 1e-5F);

// Convolution with bias and ReLU as one layer.
graph::TensorId conv_relu(graph::GraphBuilder& builder, const std::string& layer, graph::TensorId x,
                          graph::Conv2dOptions options);

// The layer "input" with `batch` RGB images, square, and their labels of `classes`.
graph::TensorId image_input(graph::GraphBuilder& builder, std::int64_t batch, std::int64_t image_size,
                            std::int64_t classes);

// Global average pooling and dropout in a layer "pool", then the layer "fc": a dense layer and the loss.
void pooled_classifier(graph::GraphBuilder& builder, graph::TensorId x, std::int64_t classes, float dropout = 0);

}  // namespace sluice::models
