// Convolution ops: the convolution by one of its methods; bias and activation beside it.
#include <algorithm>

#include "sluice/kernels/cuda/activation.cuh"
#include "sluice/kernels/cuda/cells.cuh"
#include "sluice/kernels/cuda/convolution/convolution.hpp"
#include "sluice/kernels/cuda/launch.cuh"
#include "sluice/kernels/cuda/operands.cuh"

namespace sluice::kernels::cuda {
namespace {

void finish(const CudaCall& call) {
  const bool has_bias = call.inputs.size() > 2;
  const graph::Activation activation = call.as<graph::ConvolutionAttributes>().activation;
  if (!has_bias && activation == graph::Activation::kNone) return;
  const Operand& output = call.output(0);
  const Cells bias = has_bias ? cells(call.input(2)) : Cells();
  const Cells y = cells(output);
  const auto channels = static_cast<std::int32_t>((*output.shape)[1]);
  const auto pixels = static_cast<std::int32_t>((*output.shape)[2] * (*output.shape)[3]);
  for_each_row(call.stream, (*output.shape)[0] * channels, [=] __device__(std::int64_t plane, Block & block) {
    const float shift = has_bias ? bias[plane % channels] : 0.0F;
    block.for_each(pixels, [&](std::int64_t k) {
      const std::int64_t i = plane * pixels + k;
      y.set(i, activate(activation, y[i] + shift));
    });
  });
}

void sum_bias_gradient(const CudaCall& call) {
  const Operand& gradient = call.input(1);
  const Cells dy = cells(gradient);
  const Cells dbias(call.output(1).data, call.output(1).bf16());
  const std::int64_t channels = (*gradient.shape)[1];
  const std::int64_t pixels = (*gradient.shape)[2] * (*gradient.shape)[3];
  sum_rows<1>(
      call.stream, channels, gradient.elements() / channels, call.workspace,
      [=] __device__(std::int64_t channel, std::int64_t k) {
        Sums<1> one;
        one.of[0] = dy[(k / pixels * channels + channel) * pixels + k % pixels];
        return one;
      },
      [=] __device__(std::int64_t channel, const Sums<1>& sums) { dbias.set(channel, sums.of[0]); });
}

void widen(cudaStream_t stream, const Cells& from, const Cells& to, std::int64_t count) {
  for_each_element(stream, count, [=] __device__(std::int64_t i) { to.set(i, from[i]); });
}

// Which operands are the fine and the coarse image, by kind: fine, coarse, filters; inputs count from 0, -1 the output.
ConvolutionShape shape_of(const OpRequest& request) {
  const auto& in = request.inputs;
  const graph::Shape& out = request.outputs[0];
  ConvolutionShape shape{.window = request.op.as<graph::ConvolutionAttributes>().window,
                         .groups = request.op.as<graph::ConvolutionAttributes>().groups,
                         .dtype = request.input_types[0],
                         .target = request.output_types[0]};
  const auto give = [&](ConvolutionWay way, const graph::Shape& fine, const graph::Shape& coarse,
                        const graph::Shape& filters) {
    shape.way = way;
    shape.fine = fine;
    shape.coarse = coarse;
    shape.filters = filters;
  };
  switch (request.op.kind) {
    case graph::OpKind::kConv2d:
      give(ConvolutionWay::kToCoarse, in[0], out, in[1]);
      break;
    case graph::OpKind::kConv2dBackwardData:
      give(ConvolutionWay::kToFine, out, in[0], in[1]);
      break;
    case graph::OpKind::kConv2dBackwardWeights:
      give(ConvolutionWay::kToFilters, in[0], in[1], out);
      break;
    case graph::OpKind::kConvTranspose2d:
      give(ConvolutionWay::kToFine, out, in[0], in[1]);
      break;
    case graph::OpKind::kConvTranspose2dBackwardData:
      give(ConvolutionWay::kToCoarse, in[0], out, in[1]);
      break;
    default:
      give(ConvolutionWay::kToFilters, in[1], in[0], out);
  }
  shape.window.kernel_h = shape.filters[2];
  shape.window.kernel_w = shape.filters[3];
  return shape;
}

class Convolution : public PreparedOp {
 public:
  Convolution(ConvolutionShape shape, std::shared_ptr<const ConvolutionMethod> method, const OpRequest& request)
      : shape_(std::move(shape)), method_(std::move(method)) {
    // cuDNN may have no kernel that makes fp32 filters of bf16 images: bf16 ones are widened then.
    if (request.output_types[0] != shape_.target)
      narrow_bytes_ = align_up(graph::element_count(request.outputs[0]) * size_of(shape_.target), kWorkspaceAlignment);
    workspace_bytes = narrow_bytes_ + method_->workspace_bytes;
    if (shape_.way != ConvolutionWay::kToFilters || request.outputs.size() < 2) return;
    const graph::Shape& dy = request.inputs[1];
    workspace_bytes = std::max(workspace_bytes, sum_rows_workspace<1>(dy[1], graph::element_count(dy) / dy[1]));
  }

  void run(const CudaCall& call) override {
    const bool to_filters = shape_.way == ConvolutionWay::kToFilters;
    // A transposed convolution's gradient reads the coarse image first.
    const bool swapped = call.op.kind == graph::OpKind::kConvTranspose2dBackwardWeights;
    const Operand& source = call.input(swapped ? 1 : 0);
    const Operand& other = call.input(swapped ? 0 : 1);
    const Operand& target = call.output(0);
    auto* const scratch = static_cast<std::byte*>(call.workspace);
    if (narrow_bytes_ == 0) {
      method_->run(source.data, other.data, target.data, scratch);
    } else {
      method_->run(source.data, other.data, scratch, scratch + narrow_bytes_);
      widen(call.stream, Cells(scratch, true), cells(target), target.elements());
    }
    if (!to_filters) finish(call);
    if (to_filters && call.outputs.size() > 1) sum_bias_gradient(call);
  }

 private:
  ConvolutionShape shape_;
  std::shared_ptr<const ConvolutionMethod> method_;
  Bytes narrow_bytes_ = 0;  // of a bf16 gradient before it is widened
};

bool is_convolution(graph::OpKind kind) {
  return kind == graph::OpKind::kConv2d || kind == graph::OpKind::kConv2dBackwardData ||
         kind == graph::OpKind::kConv2dBackwardWeights || kind == graph::OpKind::kConvTranspose2d ||
         kind == graph::OpKind::kConvTranspose2dBackwardData || kind == graph::OpKind::kConvTranspose2dBackwardWeights;
}

}  // namespace

Ways prepare_convolution(const Context& context, const OpRequest& request) {
  if (!is_convolution(request.op.kind)) return {};
  ConvolutionShape shape = shape_of(request);
  ConvolutionMethods methods = convolution_methods(context, shape, request.scratch);
  if (methods.empty() && shape.target != shape.dtype) {
    shape.target = shape.dtype;
    methods = convolution_methods(context, shape, request.scratch);
  }
  if (methods.empty()) methods.push_back(direct_method(context, shape));
  Ways ways;
  for (const auto& method : methods) {
    ways.push_back(std::make_shared<Convolution>(shape, method, request));
    ways.back()->implementation = method->name;
  }
  return ways;
}

}  // namespace sluice::kernels::cuda
