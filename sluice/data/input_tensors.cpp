#include "sluice/data/input_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::data {

std::vector<InputTensor> input_tensors(const graph::Graph& graph) {
  const auto op = std::ranges::find(graph.ops(), graph::OpKind::kInput, &graph::Op::kind);
  std::vector<InputTensor> found;
  if (op == graph.ops().end()) return found;
  for (const graph::TensorId id : op->outputs) {
    const graph::Tensor& tensor = graph.tensor(id);
    if (tensor.role == graph::Role::kInput) found.push_back({tensor.name, tensor.content, tensor.shape, tensor.bound});
  }
  return found;
}

const InputTensor* find_input(std::span<const InputTensor> tensors, graph::Content content) {
  const auto found = std::ranges::find(tensors, content, &InputTensor::content);
  return found == tensors.end() ? nullptr : &*found;
}

std::int64_t batch_size(const graph::Graph& graph) {
  const std::vector<InputTensor> tensors = input_tensors(graph);
  return (tensors.empty() ? 1 : tensors.front().batch()) * batches_a_step(graph);
}

std::int64_t batches_a_step(const graph::Graph& graph) {
  const auto op = std::ranges::find(graph.ops(), graph::OpKind::kInput, &graph::Op::kind);
  return op == graph.ops().end() ? 1 : std::max<std::int64_t>(1, op->as<graph::InputAttributes>().batches);
}

std::string_view content_name(graph::Content content) {
  switch (content) {
    case graph::Content::kNone:
      return "data";
    case graph::Content::kImages:
      return "images";
    case graph::Content::kLabels:
      return "labels";
    case graph::Content::kTokens:
      return "tokens";
    case graph::Content::kNextTokens:
      return "next tokens";
    case graph::Content::kMaskedTokens:
      return "masked tokens";
    case graph::Content::kHiddenTokens:
      return "hidden tokens";
    case graph::Content::kSegments:
      return "segments";
    case graph::Content::kNoise:
      return "noise";
    case graph::Content::kNumbers:
      return "numbers";
    case graph::Content::kIntegers:
      return "integers";
  }
  return "data";
}

std::string describe_inputs(std::span<const InputTensor> tensors) {
  std::string text;
  for (const InputTensor& tensor : tensors) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", content_name(tensor.content), graph::to_string(tensor.shape));
    if (tensor.bound > 0) text += fmt::format(" of {}", tensor.bound);
  }
  return text;
}

}  // namespace sluice::data
