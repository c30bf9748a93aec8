#include "sluice/models/blocks.hpp"

namespace sluice {

TensorId conv_norm(GraphBuilder& builder, const std::string& layer, TensorId x, const Conv2dOptions& options,
                   bool relu) {
  builder.begin_layer(layer);
  return builder.batch_norm(builder.conv2d(x, options), relu);
}

TensorId image_input(GraphBuilder& builder, std::int64_t batch, std::int64_t image_size) {
  builder.begin_layer("input");
  return builder.input(batch, 3, image_size, image_size);
}

void pooled_classifier(GraphBuilder& builder, TensorId x, std::int64_t classes) {
  builder.begin_layer("pool");
  x = builder.global_avg_pool(x);
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, classes));
}

}  // namespace sluice
