// The loss at the end of an imported model: which labels it needs, and how the logits become rows that match them.
#pragma once

#include "sluice/onnx/model_inputs.hpp"

namespace sluice {

struct LossPlan {
  InputSpec labels;
  Content tokens = Content::kTokens;  // kMaskedTokens for the masked-token loss
  bool swap = false;                  // logits [T, B, classes] of a time-major model
  Shape shape;                        // of the logits when they are read as rows
};

// Errors (kBadInput): logits that do not have one row per label.
Result<LossPlan> plan_loss(const ModelInputs& inputs, const Shape& logits, OnnxLoss asked);

TensorId add_loss(GraphBuilder& builder, const LossPlan& plan, TensorId logits, TensorId labels);

}  // namespace sluice
