#include "sluice/onnx/loss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sluice::onnx {
namespace {

Result<LossPlan> plan_token_loss(const ModelInputs& inputs, const graph::Shape& logits, OnnxLoss asked) {
  const ModelInput& tokens = inputs.data();
  const std::int64_t batch = inputs.batch;
  const std::int64_t length = tokens.shape[tokens.time_major ? 0 : 1];
  const bool rows = logits.size() == 2 && logits[0] == batch * length;
  const bool sequences = logits.size() == 3 && logits[0] == tokens.shape[0] && logits[1] == tokens.shape[1];
  if (!rows && !sequences) {
    return bad_input(fmt::format("the first output {} has not one row of classes for each of the tokens {}",
                                 graph::to_string(logits), graph::to_string(tokens.shape)));
  }
  LossPlan plan;
  const bool masked = asked == OnnxLoss::kMaskedToken;
  plan.tokens = masked ? graph::Content::kMaskedTokens : graph::Content::kTokens;
  if (tokens.time_major) plan.axes = {1, 0, 2};
  plan.shape =
      tokens.time_major ? graph::Shape{length, batch, logits.back()} : graph::Shape{batch, length, logits.back()};
  plan.labels = {
      "labels", masked ? graph::Content::kHiddenTokens : graph::Content::kNextTokens, {batch, length}, logits.back()};
  return plan;
}

Result<LossPlan> plan_class_loss(const graph::Shape& logits) {
  LossPlan plan;
  plan.shape = logits;
  if (logits.size() == 4 && logits[2] == 1 && logits[3] == 1) plan.shape = {logits[0], logits[1]};
  if (plan.shape.size() < 2) {
    return bad_input(
        fmt::format("cross-entropy needs a first output [N, classes, ...], got {}", graph::to_string(logits)));
  }
  graph::Shape labels = plan.shape;
  labels.erase(labels.begin() + 1);
  if (labels.size() > 1) {  // a class for each pixel
    plan.axes.resize(plan.shape.size());
    std::iota(plan.axes.begin(), plan.axes.end(), 0);
    std::rotate(plan.axes.begin() + 1, plan.axes.begin() + 2, plan.axes.end());
  }
  plan.labels = {"labels", graph::Content::kLabels, labels, plan.shape[1]};
  return plan;
}

bool has_row_per_token(const ModelInputs& inputs, const graph::Shape& logits) {
  const graph::Shape& tokens = inputs.data().shape;
  const bool sequences = logits.size() == 3 && logits[0] == tokens[0] && logits[1] == tokens[1];
  return sequences || (logits.size() == 2 && tokens[1] > 1 && logits[0] == tokens[0] * tokens[1]);
}

}  // namespace

Result<LossPlan> plan_loss(const ModelInputs& inputs, const graph::Shape& logits, OnnxLoss asked) {
  if (logits.empty()) return bad_input("the first output is a single number, not logits");
  if (asked == OnnxLoss::kAuto) {
    const bool per_token = inputs.has_tokens() && has_row_per_token(inputs, logits);
    asked = per_token ? OnnxLoss::kNextToken : OnnxLoss::kCrossEntropy;
  }
  if (asked == OnnxLoss::kCrossEntropy) {
    if (!inputs.has_tokens() || !has_row_per_token(inputs, logits)) return plan_class_loss(logits);
    return bad_input(
        fmt::format("the first output {} has a row for each token, not for each sample: its loss is "
                    "next-token or masked-token",
                    graph::to_string(logits)));
  }
  if (!inputs.has_tokens()) return bad_input("a next-token or masked-token loss needs an input of token ids");
  return plan_token_loss(inputs, logits, asked);
}

graph::TensorId add_loss(graph::GraphBuilder& builder, const std::optional<LossPlan>& plan, graph::TensorId logits,
                         graph::TensorId labels) {
  builder.begin_layer("loss");
  if (!plan) return builder.mean_loss(logits);
  if (builder.shape(logits) != plan->shape) logits = builder.reshape(logits, plan->shape);
  if (!plan->axes.empty()) logits = builder.transpose(logits, plan->axes);
  return builder.softmax_cross_entropy(logits, labels);
}

}  // namespace sluice::onnx
