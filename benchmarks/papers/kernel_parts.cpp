#include "benchmarks/papers/kernel_parts.hpp"

#include <algorithm>
#include <array>

namespace sluice::autotm {
namespace {

using Parts = std::vector<KernelPart>;

PartOperand inside(Shape shape) { return {kInside, std::move(shape)}; }

class Operands {
 public:
  Operands(const Graph& graph, const Op& op) : graph_(graph), op_(op) {}

  PartOperand in(std::size_t i) const { return whole(op_.inputs.at(i)); }
  PartOperand out(std::size_t i) const { return whole(op_.outputs.at(i)); }

  // Where the op has none: inside it.
  PartOperand in_or(std::size_t i, Shape shape) const {
    return i < op_.inputs.size() ? in(i) : inside(std::move(shape));
  }
  PartOperand out_or(std::size_t i, Shape shape) const { return has_out(i) ? out(i) : inside(std::move(shape)); }
  bool has_out(std::size_t i) const {
    return i < op_.outputs.size() && graph_.tensor(op_.outputs[i]).role != Role::kWorkspace;
  }

  // One of the two rows of [2, C].
  static PartOperand row_of(const PartOperand& pair) { return {pair.tensor, {pair.shape.at(1)}}; }

  std::vector<PartOperand> ins() const {
    std::vector<PartOperand> all;
    for (const TensorId id : op_.inputs) all.push_back(whole(id));
    return all;
  }

 private:
  PartOperand whole(TensorId id) const { return {id, graph_.tensor(id).shape}; }

  const Graph& graph_;
  const Op& op_;
};

KernelPart convolution(const Operands& of) {
  return {{"ConvolutionBias"}, {of.in(0), of.in(1), of.in_or(2, {of.in(1).shape.at(0)})}, {of.out(0)}};
}

KernelPart convolution_weights(const Operands& of) {
  return {
      {"ConvolutionBiasBackpropFiltersBias"}, {of.in(0), of.in(1)}, {of.out(0), of.out_or(1, {of.out(0).shape.at(0)})}};
}

Parts batch_norm(const Op& op, const Operands& of) {
  const PartOperand scale = Operands::row_of(of.in(1)), mean = Operands::row_of(of.out(1));
  const bool with_residual = op.inputs.size() > 3;
  const bool with_relu = op.attributes.activation != Activation::kNone;
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

Parts batch_norm_backward(const Op& op, const Operands& of) {
  const PartOperand scale = Operands::row_of(of.in(2)), mean = Operands::row_of(of.in(3));
  const PartOperand x = of.in(0);
  PartOperand dy = of.in(1);
  Parts parts;
  if (op.attributes.activation != Activation::kNone) {
    parts.push_back({{"ReluBackprop"}, {x, dy}, {inside(dy.shape)}});
    dy = inside(dy.shape);
  }
  const PartOperand dscale = Operands::row_of(of.out(1));
  parts.push_back({{"BatchNormTrainingBackprop"}, {scale, scale, x, mean, mean, dy}, {of.out(0), dscale, dscale}});
  return parts;
}

Parts add(const Op& op, const Operands& of) {
  if (op.attributes.activation == Activation::kNone) return {{{"Add"}, {of.in(0), of.in(1)}, {of.out(0)}}};
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
  OpKind kind;
  std::string_view kernel;
  std::size_t outputs = 1;
};
constexpr std::array kOneKernel{
    OneKernel{OpKind::kRelu, "Relu"},
    OneKernel{OpKind::kReluBackward, "ReluBackprop"},
    OneKernel{OpKind::kConcat, "Concat"},
    OneKernel{OpKind::kSlice, "Slice"},
    OneKernel{OpKind::kMaxPool, "MaxPoolWithIndices", 2},
    OneKernel{OpKind::kAvgPool, "AvgPool"},
    OneKernel{OpKind::kAvgPoolBackward, "AvgPoolBackprop"},
    OneKernel{OpKind::kDense, "MatmulBias"},
    OneKernel{OpKind::kDenseBackwardData, "MatmulBias"},
    OneKernel{OpKind::kReorder, "ConvertLayout"},
};

Parts one_kernel(const Op& op, const Operands& of) {
  const auto* const found = std::ranges::find(kOneKernel, op.kind, &OneKernel::kind);
  if (found == kOneKernel.end()) return {};
  KernelPart part{{found->kernel}, of.ins(), {}};
  for (std::size_t i = 0; i < found->outputs; ++i) part.outputs.push_back(of.out(i));
  return {part};
}

}  // namespace

Parts parts_of(const Graph& graph, const Op& op) {
  const Operands of(graph, op);
  switch (op.kind) {
    case OpKind::kConv2d:
      return {convolution(of)};
    case OpKind::kConv2dBackwardData:
      return {{{"ConvolutionBackpropData"}, {of.in(1), of.in(0)}, {of.out(0)}}};
    case OpKind::kConv2dBackwardWeights:
      return {convolution_weights(of)};
    case OpKind::kBatchNorm:
      return batch_norm(op, of);
    case OpKind::kBatchNormBackward:
      return batch_norm_backward(op, of);
    case OpKind::kAdd:
      return add(op, of);
    case OpKind::kMaxPoolBackward:  // nGraph's has the forward input, too, and looks only at its shape
      return {{{"MaxPoolWithIndicesBackprop"}, {inside(of.out(0).shape), of.in(0), of.in(1)}, {of.out(0)}}};
    case OpKind::kDenseBackwardWeights:
      return dense_weights(of);
    case OpKind::kSoftmaxCrossEntropy:
      return {{{"Softmax"}, {of.in(0)}, {of.out(1)}}};
    case OpKind::kSgdUpdate:
      return sgd_update(of);
    default:
      return one_kernel(op, of);
  }
}

}  // namespace sluice::autotm
