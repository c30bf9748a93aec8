#include "sluice/graph/access_pattern.hpp"

#include <algorithm>

namespace sluice::graph {
namespace {

// Ids that look up or add to rows of a table: as many places, wherever the ids say.
AccessPattern rows_of_table(const Graph& graph, const Op& op, const Tensor& table, bool only_these) {
  const std::int64_t rows = element_count(graph.tensor(op.inputs.front()).shape);
  const Bytes row_bytes = table.bytes / std::max<std::int64_t>(1, table.shape.front());
  return {.touched = only_these ? std::min(table.bytes, rows * row_bytes) : table.bytes, .scattered = rows};
}

AccessPattern part_of(const Tensor& whole, const Tensor& part) {
  return {.touched = std::min(whole.bytes, part.bytes)};
}

}  // namespace

int read_sweeps(OpKind kind) {
  switch (kind) {
    case OpKind::kBatchNorm:
      return 3;  // for the mean, for the variance, to normalise
    case OpKind::kBatchNormStatistics:
      return 2;  // for the mean, for the variance
    case OpKind::kBatchNormBackward:
      return 2;  // for the sums, for the gradient
    default:
      return 1;
  }
}

AccessPattern access_pattern(const Graph& graph, const Op& op, TensorId operand) {
  const Tensor& tensor = graph.tensor(operand);
  const bool is_input = std::ranges::find(op.inputs, operand) != op.inputs.end();
  switch (op.kind) {
    case OpKind::kEmbedding:
      if (op.inputs.size() > 1 && operand == op.inputs[1]) return rows_of_table(graph, op, tensor, true);
      break;
    case OpKind::kEmbeddingBackward:
      // A gradient that is not added to begins as zeros everywhere.
      if (operand == op.outputs.front()) return rows_of_table(graph, op, tensor, op.slice.accumulate);
      break;
    case OpKind::kSlice:
    case OpKind::kSliceBatch:
      if (is_input) return part_of(tensor, graph.tensor(op.outputs.front()));
      break;
    case OpKind::kPlaceBatch:
      if (operand == op.outputs.front()) return part_of(tensor, graph.tensor(op.inputs.front()));
      break;
    default:
      break;
  }
  return {.touched = tensor.bytes, .sweeps = is_input ? read_sweeps(op.kind) : 1};
}

}  // namespace sluice::graph
