// The loss at the end of an imported model: which labels it needs, and how the logits become rows that match them.
#pragma once

#include <optional>
#include <vector>

#include "sluice/onnx/model_inputs.hpp"

namespace sluice {

struct LossPlan {
  InputSpec labels;
  Content tokens = Content::kTokens;  // kMaskedTokens for the masked-token loss
  std::vector<std::int64_t> axes;     // in which the logits' dimensions go, classes last; empty: as they are
  Shape shape;                        // of the logits before that, without extents that only fill
};

// Errors (kBadInput): logits that do not have one row per label.
Result<LossPlan> plan_loss(const ModelInputs& inputs, const Shape& logits, OnnxLoss asked);

// Without a plan `logits` are the loss.
TensorId add_loss(GraphBuilder& builder, const std::optional<LossPlan>& plan, TensorId logits, TensorId labels);

}  // namespace sluice
