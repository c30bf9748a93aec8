#include "sluice/graph/samples.hpp"

#include <algorithm>

namespace sluice {
namespace {

bool treats_samples_alone(const Op& op) {
  switch (op.kind) {
    case OpKind::kConv2d:
    case OpKind::kConv2dBackwardData:
    case OpKind::kConv2dBackwardWeights:
    case OpKind::kConvTranspose2d:
    case OpKind::kConvTranspose2dBackwardData:
    case OpKind::kConvTranspose2dBackwardWeights:
    case OpKind::kBatchNorm:
    case OpKind::kBatchNormApply:
    case OpKind::kBatchNormBackward:
    case OpKind::kBatchNormStatistics:
    case OpKind::kBatchNormBackwardSums:
    case OpKind::kBatchNormBackwardApply:
    case OpKind::kLocalResponseNorm:
    case OpKind::kLocalResponseNormBackward:
    case OpKind::kRelu:
    case OpKind::kReluBackward:
    case OpKind::kUnary:
    case OpKind::kUnaryBackward:
    case OpKind::kAdd:
    case OpKind::kMaxPool:
    case OpKind::kMaxPoolBackward:
    case OpKind::kAvgPool:
    case OpKind::kAvgPoolBackward:
      return true;
    case OpKind::kConcat:
    case OpKind::kSlice:
    case OpKind::kPad:
      return op.attributes.axis > 0;
    default:
      return false;
  }
}

bool is_of_parameter(Role role) { return is_persistent(role) || role == Role::kGradient; }

// Made by a norm, [2, C] at any number of samples.
bool is_statistics(const Op& op, TensorId output) {
  return (op.kind == OpKind::kBatchNorm && output == op.outputs.at(1)) || op.kind == OpKind::kBatchNormStatistics;
}

}  // namespace

std::int64_t batch_of(const Graph& graph) { return graph.tensor(graph.op(0).outputs[0]).shape[0]; }

bool has_samples(const Tensor& tensor, std::int64_t batch) {
  return !is_of_parameter(tensor.role) && tensor.shape.size() == 4 && tensor.shape[0] == batch;
}

bool separable(const Graph& graph, const Op& op) {
  if (!treats_samples_alone(op)) return false;
  const std::int64_t batch = batch_of(graph);
  const bool images = std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
    return has_samples(graph.tensor(id), batch) || is_of_parameter(graph.tensor(id).role) || is_statistics(op, id);
  });
  if (!images || !has_samples(graph.tensor(op.inputs[0]), batch)) return false;
  switch (op.kind) {
    case OpKind::kConv2d:
    case OpKind::kConv2dBackwardData:
    case OpKind::kConvTranspose2d:
    case OpKind::kConvTranspose2dBackwardData:
      return is_of_parameter(graph.tensor(op.inputs[1]).role);
    case OpKind::kConv2dBackwardWeights:
    case OpKind::kConvTranspose2dBackwardWeights:
      return is_of_parameter(graph.tensor(op.outputs[0]).role);
    default:
      return true;
  }
}

}  // namespace sluice
