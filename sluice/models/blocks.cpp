#include "sluice/models/blocks.hpp"

namespace sluice::models {

graph::TensorId conv_norm(graph::GraphBuilder& builder, const std::string& layer, graph::TensorId x,
                          const graph::Conv2dOptions& options, graph::Activation activation, float epsilon) {
  builder.begin_layer(layer);
  return builder.batch_norm(builder.conv2d(x, options), activation, epsilon);
}

graph::TensorId conv_relu(graph::GraphBuilder& builder, const std::string& layer, graph::TensorId x,
                          graph::Conv2dOptions options) {
  options.bias = true;
  options.activation = graph::Activation::kRelu;
  builder.begin_layer(layer);
  return builder.conv2d(x, options);
}

graph::TensorId image_input(graph::GraphBuilder& builder, std::int64_t batch, std::int64_t image_size,
                            std::int64_t classes) {
  builder.begin_layer("input");
  return builder.input(batch, 3, image_size, image_size, classes);
}

void pooled_classifier(graph::GraphBuilder& builder, graph::TensorId x, std::int64_t classes, float dropout) {
  builder.begin_layer("pool");
  x = builder.dropout(builder.global_avg_pool(x), dropout);
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, classes));
}

}  // namespace sluice::models
