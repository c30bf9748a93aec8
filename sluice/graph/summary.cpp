#include "sluice/graph/summary.hpp"

#include "sluice/base/as_index.hpp"

namespace sluice::graph {
namespace {

double count(const Shape& shape) { return static_cast<double>(element_count(shape)); }

// Each pixel of `image` meets each element of the weights [.., .., KH, KW] once: the image of a convolution is its
// output, that of a transposed one its input.
double image_products(const Shape& image, const Shape& weight) {
  return static_cast<double>(image[0] * image[2] * image[3]) * count(weight);
}

// Each row of `rows` meets each element of the weights (a slice's, if it is one) once.
double row_products(const Shape& rows, const Shape& weight) {
  return count(rows) / static_cast<double>(rows.back()) * count(weight);
}

double matrix_products(const Shape& a, const std::vector<std::int64_t>& perm_a, const Shape& y) {
  const std::int64_t inner = perm_a.empty() ? a.back() : a.at(as_index(perm_a.back()));
  return count(y) * static_cast<double>(inner);
}

double multiply_adds(const Graph& graph, const Op& op) {
  const auto in = [&](std::size_t i) -> const Shape& { return graph.tensor(op.inputs.at(i)).shape; };
  const auto out = [&](std::size_t i) -> const Shape& { return graph.tensor(op.outputs.at(i)).shape; };
  switch (op.kind) {
    case OpKind::kConv2d:
      return image_products(out(0), in(1));
    case OpKind::kConv2dBackwardData:
    case OpKind::kConvTranspose2d:
      return image_products(in(0), in(1));
    case OpKind::kConv2dBackwardWeights:
      return image_products(in(1), out(0));
    case OpKind::kConvTranspose2dBackwardData:
      return image_products(out(0), in(1));
    case OpKind::kConvTranspose2dBackwardWeights:
      return image_products(in(0), out(0));
    case OpKind::kDense:
      return row_products(out(0), in(1));
    case OpKind::kDenseBackwardData:
      return row_products(in(0), in(1));
    case OpKind::kDenseBackwardWeights:
      return row_products(in(1), out(0));
    case OpKind::kMatMul:
      return matrix_products(in(0), op.as<ProductAttributes>().perm_a, out(0));
    case OpKind::kLstmCell:
      return op.as<RecurrentAttributes>().state ? row_products(in(0), in(3)) : 0;
    case OpKind::kLstmCellBackward:
      return op.as<RecurrentAttributes>().state ? row_products(out(0), in(4)) : 0;
    default:
      return 0;
  }
}

}  // namespace

double flops(const Graph& graph, const Op& op) { return 2 * multiply_adds(graph, op); }

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

}  // namespace sluice::graph
