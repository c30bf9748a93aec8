#include <fmt/format.h>

#include "sluice/base/random.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/attention.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

constexpr float kEpsilon = 1e-12F;
constexpr std::int64_t kSegments = 2;

// Words, segments and positions, summed and normalised.
graph::TensorId embeddings(graph::GraphBuilder& builder, graph::TensorId tokens, graph::TensorId segments,
                           graph::TensorId table, float dropout) {
  builder.begin_layer("word_embeddings");
  const graph::TensorId words = builder.embedding_with(tokens, table);
  builder.begin_layer("segment_embeddings");
  const std::int64_t features = builder.failed() ? 1 : builder.shape(table)[1];
  graph::TensorId x = builder.add(words, builder.embedding(segments, kSegments, features));
  builder.begin_layer("embeddings");
  x = builder.layer_norm(add_positions(builder, "embeddings", x, kTransformerStddev), kEpsilon);
  return builder.dropout(x, dropout);
}

graph::TensorId encoder_layer(graph::GraphBuilder& builder, const std::string& block, graph::TensorId x,
                              const ModelOptions& options) {
  graph::TensorId y = self_attention(builder, block, x, {.dropout = options.dropout});
  x = builder.layer_norm(builder.add(builder.dropout(y, options.dropout), x), kEpsilon);
  builder.begin_layer(block + ".intermediate");
  y = builder.gelu(builder.dense(x, 4 * options.width));
  builder.begin_layer(block + ".output");
  y = builder.dropout(builder.dense(y, options.width), options.dropout);
  return builder.layer_norm(builder.add(y, x), kEpsilon);
}

}  // namespace

Result<graph::Graph> build_bert(const std::string& name, const ModelOptions& options) {
  graph::GraphBuilder builder(name);
  builder.weight_init(kTransformerStddev);
  builder.begin_layer("input");
  const graph::Shape shape = {options.batch, options.sequence};
  const std::vector<graph::TensorId> data =
      builder.inputs({{"tokens", graph::Content::kMaskedTokens, shape, options.classes},
                      {"segments", graph::Content::kSegments, shape, kSegments},
                      {"hidden_tokens", graph::Content::kHiddenTokens, shape, options.classes}});
  const std::string table_name = "word_embeddings.weight";
  const graph::Init init{
      .kind = graph::Init::Kind::kNormal, .stddev = kTransformerStddev, .stream = stream_of(table_name)};
  const graph::TensorId table = builder.named_parameter(table_name, {options.classes, options.width}, init);
  graph::TensorId x = embeddings(builder, data[0], data[1], table, options.dropout);
  for (std::int64_t i = 0; i < options.depth; ++i) {
    x = encoder_layer(builder, fmt::format("layer{}", i), x, options);
  }
  builder.begin_layer("transform");
  x = builder.layer_norm(builder.gelu(builder.dense(x, options.width)), kEpsilon);
  builder.begin_layer("decoder");
  const graph::TensorId bias = builder.named_parameter("decoder.bias", {options.classes}, {});
  x = builder.add(graph::OpKind::kDense, {}, {x, table, bias});
  builder.softmax_cross_entropy(x, data[2]);
  return builder.finish();
}

}  // namespace sluice::models
