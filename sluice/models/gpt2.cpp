#include <fmt/format.h>

#include <cmath>

#include "sluice/base/random.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/attention.hpp"
#include "sluice/models/networks.hpp"

namespace sluice {
namespace {

constexpr float kPositionStddev = 0.01F;

// The projections that are added to the residual stream start smaller, so that its variance does not grow with depth.
TensorId decoder_layer(GraphBuilder& builder, const std::string& block, TensorId x, const ModelOptions& options) {
  const float residual_stddev = kTransformerStddev / std::sqrt(2.0F * static_cast<float>(options.depth));
  builder.begin_layer(block + ".norm1");
  TensorId y = builder.layer_norm(x);
  y = self_attention(builder, block, y, {.causal = true, .dropout = options.dropout, .output_stddev = residual_stddev});
  x = builder.add(builder.dropout(y, options.dropout), x);
  builder.begin_layer(block + ".norm2");
  y = builder.layer_norm(x);
  builder.begin_layer(block + ".intermediate");
  y = builder.unary(builder.dense(y, 4 * options.width), UnaryFunction::kGeluTanh);
  builder.begin_layer(block + ".output");
  builder.weight_init(residual_stddev);
  y = builder.dropout(builder.dense(y, options.width), options.dropout);
  builder.weight_init(kTransformerStddev);
  return builder.add(y, x);
}

}  // namespace

Result<Graph> build_gpt2(const std::string& name, const ModelOptions& options) {
  GraphBuilder builder(name);
  builder.weight_init(kTransformerStddev);
  builder.begin_layer("input");
  const Shape shape = {options.batch, options.sequence};
  const std::vector<TensorId> data = builder.inputs({{"tokens", Content::kTokens, shape, options.classes},
                                                     {"next_tokens", Content::kNextTokens, shape, options.classes}});
  builder.begin_layer("embeddings");
  const std::string table_name = "embeddings.weight";
  const Init init{.kind = Init::Kind::kNormal, .stddev = kTransformerStddev, .stream = stream_of(table_name)};
  const TensorId table = builder.named_parameter(table_name, {options.classes, options.width}, init);
  TensorId x = builder.embedding_with(data[0], table);
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

}  // namespace sluice
