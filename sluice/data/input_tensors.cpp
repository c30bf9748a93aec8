#include "sluice/data/input_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

std::vector<InputTensor> input_tensors(const Graph& graph) {
  const auto op = std::ranges::find(graph.ops(), OpKind::kInput, &Op::kind);
  std::vector<InputTensor> found;
  if (op == graph.ops().end()) return found;
  for (const TensorId id : op->outputs) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.role == Role::kInput) found.push_back({tensor.name, tensor.content, tensor.shape, tensor.bound});
  }
  return found;
}

const InputTensor* find_input(std::span<const InputTensor> tensors, Content content) {
  const auto found = std::ranges::find(tensors, content, &InputTensor::content);
  return found == tensors.end() ? nullptr : &*found;
}

std::int64_t batch_size(const Graph& graph) {
  const std::vector<InputTensor> tensors = input_tensors(graph);
  return (tensors.empty() ? 1 : tensors.front().batch()) * batches_a_step(graph);
}

std::int64_t batches_a_step(const Graph& graph) {
  const auto op = std::ranges::find(graph.ops(), OpKind::kInput, &Op::kind);
  return op == graph.ops().end() ? 1 : std::max<std::int64_t>(1, op->attributes.out_end);
}

std::string_view content_name(Content content) {
  switch (content) {
    case Content::kNone:
      return "data";
    case Content::kImages:
      return "images";
    case Content::kLabels:
      return "labels";
    case Content::kTokens:
      return "tokens";
    case Content::kNextTokens:
      return "next tokens";
    case Content::kMaskedTokens:
      return "masked tokens";
    case Content::kHiddenTokens:
      return "hidden tokens";
    case Content::kSegments:
      return "segments";
    case Content::kNoise:
      return "noise";
    case Content::kNumbers:
      return "numbers";
    case Content::kIntegers:
      return "integers";
  }
  return "data";
}

std::string describe_inputs(std::span<const InputTensor> tensors) {
  std::string text;
  for (const InputTensor& tensor : tensors) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", content_name(tensor.content), to_string(tensor.shape));
    if (tensor.bound > 0) text += fmt::format(" of {}", tensor.bound);
  }
  return text;
}

}  // namespace sluice
