#include "benchmarks/papers/kernel_parts.hpp"

#include <algorithm>
#include <array>

namespace sluice::benchmarks::autotm {
namespace {

using Parts = std::vector<KernelPart>;

PartOperand inside(graph::Shape shape) { return {kInside, std::move(shape)}; }

class Operands {
 public:
  Operands(const graph::Graph& graph, const graph::Op& op) : graph_(graph), op_(op) {}

  PartOperand in(std::size_t i) const { return whole(op_.inputs.at(i)); }
  PartOperand out(std::size_t i) const { return whole(op_.outputs.at(i)); }

  // Where the op has none: inside it.
  PartOperand in_or(std::size_t i, graph::Shape shape) const {
    return i < op_.inputs.size() ? in(i) : inside(std::move(shape));
  }
  PartOperand out_or(std::size_t i, graph::Shape shape) const { return has_out(i) ? out(i) : inside(std::move(shape)); }
  bool has_out(std::size_t i) const {
    return i < op_.outputs.size() && graph_.tensor(op_.outputs[i]).role != graph::Role::kWorkspace;
  }

  // One of the two rows of [2, C].
  static PartOperand row_of(const PartOperand& pair) { return {pair.tensor, {pair.shape.at(1)}}; }

  std::vector<PartOperand> ins() const {
    std::vector<PartOperand> all;
    for (const graph::TensorId id : op_.inputs) all.push_back(whole(id));
    return all;
  }

 private:
  PartOperand whole(graph::TensorId id) const { return {id, graph_.tensor(id).shape}; }

  const graph::Graph& graph_;
  const graph::Op& op_;
};

KernelPart convolution(const Operands& of) {
  return {{"ConvolutionBias"}, {of.in(0), of.in(1), of.in_or(2, {of.in(1).shape.at(0)})}, {of.out(0)}};
}

KernelPart convolution_weights(const Operands& of) {
  return {
      {"ConvolutionBiasBackpropFiltersBias"}, {of.in(0), of.in(1)}, {of.out(0), of.out_or(1, {of.out(0).shape.at(0)})}};
}

Parts batch_norm(const graph::Op& op, const Operands& of) {
  const PartOperand scale = Operands::row_of(of.in(1)), mean = Operands::row_of(of.out(1));
  const bool with_residual = op.inputs.size() > 3;
  const bool with_relu = graph::fused_activation(op.attributes) != graph::Activation::kNone;
  const PartOperand y = of.out(0);
  if (!with_residual) {
    const std::string_view plain = "BatchNormTraining", fused = "BatchNormTrainingRelu";
    return {{{with_relu ? fused : plain, with_relu ? plain : fused}, {scale, scale, of.in(0)}, {y, mean, mean}}};
  }
  const PartOperand normal = inside(y.shape);
  Parts parts{{{"BatchNormTraining", "BatchNormTrainingRelu"}, {scale, scale, of.in(0)}, {normal, mean, mean}}};
  parts.push_back({{"Add"}, {normal, of.in(3)}, {with_relu ? normal : y}});
  if (with_relu) parts.push_back({{"Relu"}, {normal}, {y}});
  return parts;
}

Parts batch_norm_backward(const graph::Op& op, const Operands& of) {
  const PartOperand scale = Operands::row_of(of.in(2)), mean = Operands::row_of(of.in(3));
  const PartOperand x = of.in(0);
  PartOperand dy = of.in(1);
  Parts parts;
  if (graph::fused_activation(op.attributes) != graph::Activation::kNone) {
    parts.push_back({{"ReluBackprop"}, {x, dy}, {inside(dy.shape)}});
    dy = inside(dy.shape);
  }
  const PartOperand dscale = Operands::row_of(of.out(1));
  parts.push_back({{"BatchNormTrainingBackprop"}, {scale, scale, x, mean, mean, dy}, {of.out(0), dscale, dscale}});
  return parts;
}

Parts add(const graph::Op& op, const Operands& of) {
  if (graph::fused_activation(op.attributes) == graph::Activation::kNone)
    return {{{"Add"}, {of.in(0), of.in(1)}, {of.out(0)}}};
  const PartOperand sum = inside(of.out(0).shape);
  return {{{"Add"}, {of.in(0), of.in(1)}, {sum}}, {{"Relu"}, {sum}, {of.out(0)}}};
}

Parts dense_weights(const Operands& of) {
  Parts parts{{{"MatmulBias"}, {of.in(0), of.in(1)}, {of.out(0)}}};
  if (of.has_out(1)) parts.push_back({{"Sum"}, {of.in(1)}, {of.out(1)}});
  return parts;
}

Parts sgd_update(const Operands& of) {
  const PartOperand weights = of.in(0), gradient = of.in(1), momentum = of.in(2);
  return {{{"Add"}, {momentum, gradient}, {momentum}}, {{"Add"}, {weights, inside(weights.shape)}, {weights}}};
}

// Kinds that one kernel does, with the operands that the kind has.
struct OneKernel {
  graph::OpKind kind;
  std::string_view kernel;
  std::size_t outputs = 1;
};
constexpr std::array kOneKernel{
    OneKernel{graph::OpKind::kRelu, "Relu"},
    OneKernel{graph::OpKind::kReluBackward, "ReluBackprop"},
    OneKernel{graph::OpKind::kConcat, "Concat"},
    OneKernel{graph::OpKind::kSlice, "Slice"},
    OneKernel{graph::OpKind::kMaxPool, "MaxPoolWithIndices", 2},
    OneKernel{graph::OpKind::kAvgPool, "AvgPool"},
    OneKernel{graph::OpKind::kAvgPoolBackward, "AvgPoolBackprop"},
    OneKernel{graph::OpKind::kDense, "MatmulBias"},
    OneKernel{graph::OpKind::kDenseBackwardData, "MatmulBias"},
    OneKernel{graph::OpKind::kReorder, "ConvertLayout"},
};

Parts one_kernel(const graph::Op& op, const Operands& of) {
  const auto* const found = std::ranges::find(kOneKernel, op.kind, &OneKernel::kind);
  if (found == kOneKernel.end()) return {};
  KernelPart part{{found->kernel}, of.ins(), {}};
  for (std::size_t i = 0; i < found->outputs; ++i) part.outputs.push_back(of.out(i));
  return {part};
}

}  // namespace

Parts parts_of(const graph::Graph& graph, const graph::Op& op) {
  const Operands of(graph, op);
  switch (op.kind) {
    case graph::OpKind::kConv2d:
      return {convolution(of)};
    case graph::OpKind::kConv2dBackwardData:
      return {{{"ConvolutionBackpropData"}, {of.in(1), of.in(0)}, {of.out(0)}}};
    case graph::OpKind::kConv2dBackwardWeights:
      return {convolution_weights(of)};
    case graph::OpKind::kBatchNorm:
      return batch_norm(op, of);
    case graph::OpKind::kBatchNormBackward:
      return batch_norm_backward(op, of);
    case graph::OpKind::kAdd:
      return add(op, of);
    case graph::OpKind::kMaxPoolBackward:  // nGraph's has the forward input, too, and looks only at its shape
      return {{{"MaxPoolWithIndicesBackprop"}, {inside(of.out(0).shape), of.in(0), of.in(1)}, {of.out(0)}}};
    case graph::OpKind::kDenseBackwardWeights:
      return dense_weights(of);
    case graph::OpKind::kSoftmaxCrossEntropy:
      return {{{"Softmax"}, {of.in(0)}, {of.out(1)}}};
    case graph::OpKind::kSgdUpdate:
      return sgd_update(of);
    default:
      return one_kernel(op, of);
  }
}

}  // namespace sluice::benchmarks::autotm
