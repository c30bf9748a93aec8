// The layers that the built-in networks are made of. Each call that adds a convolution begins a model layer.
#pragma once

#include <string>

#include "sluice/graph/builder.hpp"

namespace sluice {

// Convolution, batch norm and, if asked, ReLU (fused into the norm) as one layer: the v1 order.
TensorId conv_norm(GraphBuilder& builder, const std::string& layer, TensorId x, const Conv2dOptions& options,
                   bool relu);

// The layer "input" with `batch` RGB images, square, and their labels.
TensorId image_input(GraphBuilder& builder, std::int64_t batch, std::int64_t image_size);

// Global average pooling in a layer "pool", then the layer "fc": a dense layer and the loss.
void pooled_classifier(GraphBuilder& builder, TensorId x, std::int64_t classes);

}  // namespace sluice
