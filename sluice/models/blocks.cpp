#include "sluice/models/blocks.hpp"

namespace sluice {

TensorId conv_norm(GraphBuilder& builder, const std::string& layer, TensorId x, const Conv2dOptions& options,
                   Activation activation, float epsilon) {
  builder.begin_layer(layer);
  return builder.batch_norm(builder.conv2d(x, options), activation, epsilon);
}

TensorId conv_relu(GraphBuilder& builder, const std::string& layer, TensorId x, Conv2dOptions options) {
  options.bias = true;
  options.activation = Activation::kRelu;
  builder.begin_layer(layer);
  return builder.conv2d(x, options);
}

TensorId image_input(GraphBuilder& builder, std::int64_t batch, std::int64_t image_size, std::int64_t classes) {
  builder.begin_layer("input");
  return builder.input(batch, 3, image_size, image_size, classes);
}

void pooled_classifier(GraphBuilder& builder, TensorId x, std::int64_t classes, float dropout) {
  builder.begin_layer("pool");
  x = builder.dropout(builder.global_avg_pool(x), dropout);
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, classes));
}

}  // namespace sluice
