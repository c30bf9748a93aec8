#include "sluice/graph/builder/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/shapes/forward_claim.hpp"
#include "sluice/graph/shapes/shape_rules.hpp"

namespace sluice::graph {
namespace {

std::string text(const Shapes& shapes) {
  std::string all;
  for (const Shape& shape : shapes) all += (all.empty() ? "" : ", ") + to_string(shape);
  return all;
}

Error error(const Op& op, const std::string& detail) {
  return {ErrorCode::kBadInput, fmt::format("op '{}' ({}): {}", op.name, to_string(op.kind), detail)};
}

Shapes shapes_of(const Graph& graph, const std::vector<TensorId>& operands) {
  Shapes shapes;
  for (const TensorId id : operands) {
    if (graph.tensor(id).role != Role::kWorkspace) shapes.push_back(graph.tensor(id).shape);
  }
  return shapes;
}

// Copies between a batch and some of its samples.
Status check_batch_copy(const Op& op, const Shapes& inputs, const Shapes& outputs) {
  const bool taking = op.kind == OpKind::kSliceBatch;
  const Slice& slice = op.slice;
  const std::size_t operands = slice.partial ? 2 : 1;
  if (inputs.size() != operands || outputs.size() != 1 || inputs[0].empty() || outputs[0].empty()) {
    return error(op, fmt::format("got inputs {} and outputs {}", text(inputs), text(outputs)));
  }
  Shape whole = taking ? inputs[0] : outputs[0];
  const Shape& part = taking ? outputs[0] : inputs[0];
  if (slice.begin < 0 || slice.begin >= slice.end || slice.end > whole[0]) {
    return error(op, fmt::format("samples {}:{} are not a slice of {}", slice.begin, slice.end, text({whole})));
  }
  whole[0] = slice.end - slice.begin;
  if (whole != part) return error(op, fmt::format("the slice should be {}, not {}", text({whole}), text({part})));
  if (slice.partial && (taking || op.inputs[1] != op.outputs[0])) {
    return error(op, "a partial copy must name its output as its last input");
  }
  return {};
}

// What an op adds to, or writes a part of, is its output and stands among its inputs too, at the end. Leaves it out.
Status drop_operands_named_again(const Op& op, Shapes& inputs, std::size_t outputs) {
  const std::size_t added_to = op.kind == OpKind::kSoftmaxCrossEntropy ? 1 : outputs;  // probabilities are new
  const std::size_t again = op.slice.accumulate ? added_to : op.slice.partial ? 1 : 0;
  if (again == 0) return {};
  const bool named =
      op.inputs.size() >= again && op.outputs.size() >= again &&
      std::equal(op.inputs.end() - static_cast<std::ptrdiff_t>(again), op.inputs.end(), op.outputs.begin());
  if (!named) return error(op, "a partial or accumulating op must name its outputs as its last inputs");
  inputs.resize(inputs.size() - again);
  return {};
}

// A sliced op as a whole one: a dense op with its part of the output features only. An embedding's rows must be as many
// as its slice has.
Status narrow_to_slice(const Op& op, Shapes& inputs, Shapes& outputs) {
  const Slice& slice = op.slice;
  const bool embedding = op.kind == OpKind::kEmbedding || op.kind == OpKind::kEmbeddingBackward;
  const bool dense =
      op.kind == OpKind::kDense || op.kind == OpKind::kDenseBackwardData || op.kind == OpKind::kDenseBackwardWeights;
  if (slice.end == 0 || !(embedding || dense)) return {};
  const bool output = op.kind == OpKind::kDense || op.kind == OpKind::kEmbeddingBackward;
  const bool second = op.kind == OpKind::kDenseBackwardWeights || op.kind == OpKind::kEmbedding;
  Shapes& side = output ? outputs : inputs;
  Shape* const sliced = side.size() > (second ? 1U : 0U) ? &side[second ? 1 : 0] : nullptr;
  const std::int64_t length = slice.end - slice.begin;
  if (sliced == nullptr || sliced->empty() || slice.begin < 0 || length < 1 ||
      (embedding ? sliced->front() != length : slice.end > sliced->back())) {
    return error(op, fmt::format("{}:{} is not the slice of {}", slice.begin, slice.end, text(side)));
  }
  if (dense) sliced->back() = length;
  return {};
}

}  // namespace

Status check_op_shapes(const Graph& graph, const Op& op) {
  if (!of_family(op.kind, op.attributes)) return error(op, "has the attributes of another kind of op");
  if (op.kind == OpKind::kInput || !op.views.empty()) return {};
  Shapes inputs = shapes_of(graph, op.inputs);
  Shapes outputs = shapes_of(graph, op.outputs);
  if (op.kind == OpKind::kSliceBatch || op.kind == OpKind::kPlaceBatch) return check_batch_copy(op, inputs, outputs);
  SLUICE_RETURN_IF_ERROR(drop_operands_named_again(op, inputs, outputs.size()));
  if (outputs.empty()) return error(op, "has no outputs");
  SLUICE_RETURN_IF_ERROR(narrow_to_slice(op, inputs, outputs));
  const std::optional<ForwardClaim> claim = forward_claim(op, inputs, outputs);
  if (!claim) return error(op, fmt::format("got {} inputs and {} outputs", inputs.size(), outputs.size()));
  for (const auto& [got, expected] : claim->equal) {
    if (got != expected) return error(op, fmt::format("{} should be {}", to_string(got), to_string(expected)));
  }
  const Result<Shapes> inferred = infer_shapes(claim->forward, op.attributes, claim->inputs, op.slice);
  if (!inferred.ok()) return error(op, inferred.error().message);
  if (*inferred == claim->outputs) return {};
  return error(op, fmt::format("the shapes of {} should be {}, not {}", to_string(claim->forward), text(*inferred),
                               text(claim->outputs)));
}

Status validate(const Graph& graph) {
  std::vector<bool> defined;
  for (const Tensor& tensor : graph.tensors()) defined.push_back(is_persistent(tensor.role));
  for (const Op& op : graph.ops()) {
    if (op.layer < 0 || op.layer >= static_cast<LayerIndex>(graph.layers.size())) return error(op, "has no layer");
    for (const TensorId id : op.inputs) {
      if (!defined[as_index(id)]) {
        return error(op, fmt::format("reads '{}', which nothing wrote before", graph.tensor(id).name));
      }
    }
    SLUICE_RETURN_IF_ERROR(check_op_shapes(graph, op));
    for (const TensorId id : op.outputs) defined[as_index(id)] = true;
  }
  return {};
}

}  // namespace sluice::graph
