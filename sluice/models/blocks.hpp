// The layers that the built-in networks are made of. Each call that adds a convolution begins a model layer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "sluice/graph/builder/builder.hpp"

namespace sluice {

constexpr float kInceptionEpsilon = 1e-3F;  // of batch norms, in Google's image models

// A layer's channels in a network made `width` / `usual_width` times as wide as published; at least 1.
constexpr std::int64_t scaled(std::int64_t channels, std::int64_t width, std::int64_t usual_width) {
  return std::max<std::int64_t>(1, channels * width / usual_width);
}

// Convolution without bias, batch norm and the activation (fused into the norm) as one layer: the v1 order.
TensorId conv_norm(GraphBuilder& builder, const std::string& layer, TensorId x, const Conv2dOptions& options,
                   Activation activation, float epsilon = 1e-5F);

// Convolution with bias and ReLU as one layer.
TensorId conv_relu(GraphBuilder& builder, const std::string& layer, TensorId x, Conv2dOptions options);

// The layer "input" with `batch` RGB images, square, and their labels of `classes`.
TensorId image_input(GraphBuilder& builder, std::int64_t batch, std::int64_t image_size, std::int64_t classes);

// Global average pooling and dropout in a layer "pool", then the layer "fc": a dense layer and the loss.
void pooled_classifier(GraphBuilder& builder, TensorId x, std::int64_t classes, float dropout = 0);

}  // namespace sluice
