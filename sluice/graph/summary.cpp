#include "sluice/graph/summary.hpp"

namespace sluice {
namespace {

// `image` has the shape of the convolution's output, `weight` [O, I, KH, KW]: each output element is a sum over one
// filter. A dense op is the case of a 1x1 image with the weight's own features (a slice's, if it is one).
double multiply_adds(const Shape& image, const Shape& weight) {
  const double positions =
      image.size() == 4 ? static_cast<double>(image[0] * image[2] * image[3]) : static_cast<double>(image[0]);
  return positions * static_cast<double>(element_count(weight));
}

}  // namespace

double flops(const Graph& graph, const Op& op) {
  const auto shape = [&](TensorId id) -> const Shape& { return graph.tensor(id).shape; };
  switch (op.kind) {
    case OpKind::kConv2d:
    case OpKind::kDense:
      return 2 * multiply_adds(shape(op.outputs[0]), shape(op.inputs[1]));
    case OpKind::kConv2dBackwardData:
    case OpKind::kDenseBackwardData:
      return 2 * multiply_adds(shape(op.inputs[0]), shape(op.inputs[1]));
    case OpKind::kConv2dBackwardWeights:
    case OpKind::kDenseBackwardWeights:
      return 2 * multiply_adds(shape(op.inputs[1]), shape(op.outputs[0]));
    default:
      return 0;
  }
}

GraphSummary summarize(const Graph& graph) {
  GraphSummary summary;
  summary.ops = graph.op_count();
  summary.tensors = graph.tensor_count();
  summary.layers = graph.layers.size();
  for (const Tensor& tensor : graph.tensors()) {
    summary.bytes[tensor.role] += tensor.bytes;
    if (tensor.role == Role::kParameter) summary.parameters += element_count(tensor.shape);
  }
  for (const Op& op : graph.ops()) summary.flops += flops(graph, op);
  return summary;
}

}  // namespace sluice
