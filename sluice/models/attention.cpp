#include "sluice/models/attention.hpp"

#include <cmath>

#include "sluice/base/random.hpp"

namespace sluice::models {
namespace {

struct Heads {
  graph::Shape split;              // [B, S, heads, 64]
  std::vector<std::int64_t> axes;  // what brings it into the product's order
};

graph::TensorId projection(graph::GraphBuilder& builder, const std::string& layer, graph::TensorId x,
                           const Heads& heads) {
  builder.begin_layer(layer);
  const std::int64_t features = heads.split[2] * heads.split[3];
  return builder.transpose(builder.reshape(builder.dense(x, features), heads.split), heads.axes);
}

}  // namespace

graph::TensorId self_attention(graph::GraphBuilder& builder, const std::string& block, graph::TensorId x,
                               const SelfAttention& options) {
  if (builder.failed()) return x;
  const graph::Shape shape = builder.shape(x);
  const graph::Shape split = {shape[0], shape[1], shape[2] / kHeadFeatures, kHeadFeatures};
  const graph::TensorId query = projection(builder, block + ".query", x, {split, {0, 2, 1, 3}});
  const graph::TensorId key = projection(builder, block + ".key", x, {split, {0, 2, 3, 1}});
  const graph::TensorId value = projection(builder, block + ".value", x, {split, {0, 2, 1, 3}});

  builder.begin_layer(block + ".attention");
  const float scale = 1.0F / std::sqrt(static_cast<float>(kHeadFeatures));
  graph::TensorId weights = builder.softmax(builder.matmul(query, key), scale, options.causal);
  weights = builder.dropout(weights, options.dropout);
  const graph::TensorId mixed = builder.transpose(builder.matmul(weights, value), {0, 2, 1, 3});

  builder.begin_layer(block + ".attention_output");
  builder.weight_init(options.output_stddev);
  const graph::TensorId y = builder.dense(builder.reshape(mixed, shape), shape[2]);
  builder.weight_init(kTransformerStddev);
  return y;
}

graph::TensorId add_positions(graph::GraphBuilder& builder, const std::string& layer, graph::TensorId x, float stddev) {
  if (builder.failed()) return x;
  const graph::Shape shape = builder.shape(x);
  const std::string name = layer + ".positions";
  const graph::Init init{.kind = graph::Init::Kind::kNormal, .stddev = stddev, .stream = stream_of(name)};
  return builder.binary(x, builder.named_parameter(name, {shape[1], shape[2]}, init), graph::BinaryFunction::kAdd);
}

}  // namespace sluice::models
