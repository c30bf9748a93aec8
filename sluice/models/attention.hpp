// What transformers share: self-attention of several heads (Vaswani et al. 2017) and position embeddings.
//
// The score matrices [B, heads, S, S] are tensors like any other, so a planner may move them: a layer keeps two for the
// backward pass, the probabilities before and after dropout.
#pragma once

#include <string>

#include "sluice/graph/builder/builder.hpp"

namespace sluice::models {

constexpr std::int64_t kHeadFeatures = 64;  // of every head, in BERT and GPT-2
constexpr float kTransformerStddev = 0.02F;

struct SelfAttention {
  bool causal = false;
  float dropout = 0;            // of the probabilities
  float output_stddev = 0.02F;  // of the output projection's weight
};

// x [B, S, C] to [B, S, C] in the layers "<block>.query", ".key", ".value", ".attention" and ".attention_output"; the
// last one stays open, for what follows the output projection. One head for every 64 features.
graph::TensorId self_attention(graph::GraphBuilder& builder, const std::string& block, graph::TensorId x,
                               const SelfAttention& options);

// A learned vector for each position, the same for every sample: x [B, S, C] + [S, C]. The parameter is
// "<layer>.positions".
graph::TensorId add_positions(graph::GraphBuilder& builder, const std::string& layer, graph::TensorId x, float stddev);

}  // namespace sluice::models
