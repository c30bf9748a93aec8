#include <fmt/format.h>

#include <cmath>

#include "sluice/base/random.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/attention.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

constexpr float kPositionStddev = 0.01F;

// The projections that are added to the residual stream start smaller, so that its variance does not grow with depth.
graph::TensorId decoder_layer(graph::GraphBuilder& builder, const std::string& block, graph::TensorId x,
                              const ModelOptions& options) {
  const float residual_stddev = kTransformerStddev / std::sqrt(2.0F * static_cast<float>(options.depth));
  builder.begin_layer(block + ".norm1");
  graph::TensorId y = builder.layer_norm(x);
  y = self_attention(builder, block, y, {.causal = true, .dropout = options.dropout, .output_stddev = residual_stddev});
  x = builder.add(builder.dropout(y, options.dropout), x);
  builder.begin_layer(block + ".norm2");
  y = builder.layer_norm(x);
  builder.begin_layer(block + ".intermediate");
  y = builder.unary(builder.dense(y, 4 * options.width), graph::UnaryFunction::kGeluTanh);
  builder.begin_layer(block + ".output");
  builder.weight_init(residual_stddev);
  y = builder.dropout(builder.dense(y, options.width), options.dropout);
  builder.weight_init(kTransformerStddev);
  return builder.add(y, x);
}

}  // namespace

Result<graph::Graph> build_gpt2(const std::string& name, const ModelOptions& options) {
  graph::GraphBuilder builder(name);
  builder.weight_init(kTransformerStddev);
  builder.begin_layer("input");
  const graph::Shape shape = {options.batch, options.sequence};
  const std::vector<graph::TensorId> data =
      builder.inputs({{"tokens", graph::Content::kTokens, shape, options.classes},
                      {"next_tokens", graph::Content::kNextTokens, shape, options.classes}});
  builder.begin_layer("embeddings");
  const std::string table_name = "embeddings.weight";
  const graph::Init init{
      .kind = graph::Init::Kind::kNormal, .stddev = kTransformerStddev, .stream = stream_of(table_name)};
  const graph::TensorId table = builder.named_parameter(table_name, {options.classes, options.width}, init);
  graph::TensorId x = builder.embedding_with(data[0], table);
  x = builder.dropout(add_positions(builder, "embeddings", x, kPositionStddev), options.dropout);
  for (std::int64_t i = 0; i < options.depth; ++i) {
    x = decoder_layer(builder, fmt::format("layer{}", i), x, options);
  }
  builder.begin_layer("norm");
  x = builder.layer_norm(x);
  builder.begin_layer("decoder");
  builder.softmax_cross_entropy(builder.dense_with(x, table), data[1]);
  return builder.finish();
}

}  // namespace sluice::models
