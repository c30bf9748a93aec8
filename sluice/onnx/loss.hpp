// The loss at the end of an imported model: which labels it needs, and how the logits become rows that match them.
#pragma once

#include <optional>
#include <vector>

#include "sluice/onnx/model_inputs.hpp"

namespace sluice::onnx {

struct LossPlan {
  graph::InputSpec labels;
  graph::Content tokens = graph::Content::kTokens;  // kMaskedTokens for the masked-token loss
  std::vector<std::int64_t> axes;  // in which the logits' dimensions go, classes last; empty: as they are
  graph::Shape shape;              // of the logits before that, without extents that only fill
};

// Errors (kBadInput): logits that do not have one row per label.
Result<LossPlan> plan_loss(const ModelInputs& inputs, const graph::Shape& logits, OnnxLoss asked);

// Without a plan `logits` are the loss.
graph::TensorId add_loss(graph::GraphBuilder& builder, const std::optional<LossPlan>& plan, graph::TensorId logits,
                         graph::TensorId labels);

}  // namespace sluice::onnx
