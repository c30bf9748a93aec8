#include <fmt/format.h>

#include "sluice/base/random.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/attention.hpp"
#include "sluice/models/networks.hpp"

namespace sluice {
namespace {

constexpr float kEpsilon = 1e-12F;
constexpr std::int64_t kSegments = 2;

// Words, segments and positions, summed and normalised.
TensorId embeddings(GraphBuilder& builder, TensorId tokens, TensorId segments, TensorId table, float dropout) {
  builder.begin_layer("word_embeddings");
  const TensorId words = builder.embedding_with(tokens, table);
  builder.begin_layer("segment_embeddings");
  const std::int64_t features = builder.failed() ? 1 : builder.shape(table)[1];
  TensorId x = builder.add(words, builder.embedding(segments, kSegments, features));
  builder.begin_layer("embeddings");
  x = builder.layer_norm(add_positions(builder, "embeddings", x, kTransformerStddev), kEpsilon);
  return builder.dropout(x, dropout);
}

TensorId encoder_layer(GraphBuilder& builder, const std::string& block, TensorId x, const ModelOptions& options) {
  TensorId y = self_attention(builder, block, x, {.dropout = options.dropout});
  x = builder.layer_norm(builder.add(builder.dropout(y, options.dropout), x), kEpsilon);
  builder.begin_layer(block + ".intermediate");
  y = builder.gelu(builder.dense(x, 4 * options.width));
  builder.begin_layer(block + ".output");
  y = builder.dropout(builder.dense(y, options.width), options.dropout);
  return builder.layer_norm(builder.add(y, x), kEpsilon);
}

}  // namespace

Result<Graph> build_bert(const std::string& name, const ModelOptions& options) {
  GraphBuilder builder(name);
  builder.weight_init(kTransformerStddev);
  builder.begin_layer("input");
  const Shape shape = {options.batch, options.sequence};
  const std::vector<TensorId> data =
      builder.inputs({{"tokens", Content::kMaskedTokens, shape, options.classes},
                      {"segments", Content::kSegments, shape, kSegments},
                      {"hidden_tokens", Content::kHiddenTokens, shape, options.classes}});
  const std::string table_name = "word_embeddings.weight";
  const Init init{.kind = Init::Kind::kNormal, .stddev = kTransformerStddev, .stream = stream_of(table_name)};
  const TensorId table = builder.named_parameter(table_name, {options.classes, options.width}, init);
  TensorId x = embeddings(builder, data[0], data[1], table, options.dropout);
  for (std::int64_t i = 0; i < options.depth; ++i) {
    x = encoder_layer(builder, fmt::format("layer{}", i), x, options);
  }
  builder.begin_layer("transform");
  x = builder.layer_norm(builder.gelu(builder.dense(x, options.width)), kEpsilon);
  builder.begin_layer("decoder");
  const TensorId bias = builder.named_parameter("decoder.bias", {options.classes}, {});
  x = builder.add(OpKind::kDense, {}, {x, table, bias});
  builder.softmax_cross_entropy(x, data[2]);
  return builder.finish();
}

}  // namespace sluice
