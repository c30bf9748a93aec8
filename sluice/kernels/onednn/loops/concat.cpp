// Concatenation, slices and padding along one dimension. Images stay blocked by channels where an operand already is.
#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/onednn/loops/axis_copy.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/vectors/vector_code.hpp"

namespace sluice::kernels {
namespace {

bool lies_blocked(const OperandRequest& operand) {
  return operand.layout && is_blocked_image(*operand.layout) && !is_plain(*operand.layout);
}

bool any_blocked(const KernelRequest& request) {
  const auto blocked = [](const std::vector<OperandRequest>& operands) {
    return std::any_of(operands.begin(), operands.end(), lies_blocked);
  };
  return blocked(request.inputs) || blocked(request.outputs);
}

void set_layouts(Kernel& kernel, const KernelRequest& request, bool blocked) {
  const auto layouts = [&](const std::vector<OperandRequest>& operands) {
    std::vector<Layout> result = plain_layouts(operands);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (blocked) result[i] = blocked_image_layout(operands[i].shape, operands[i].dtype);
    return result;
  };
  kernel.inputs = layouts(request.inputs);
  kernel.outputs = layouts(request.outputs);
}

KernelPtr make_copies(const KernelRequest& request, std::vector<AxisCopy> copies, bool blocked, bool clears) {
  const std::size_t output = request.inputs.size();
  const graph::Activation activation = graph::fused_activation(request.attributes);
  const bool streams = blocked && !clears && request.outputs[0].dtype == graph::DType::kF32 &&
                       graph::element_count(request.outputs[0].shape) * size_of(graph::DType::kF32) >= kStreamedBytes;
  auto kernel = std::make_unique<LoopKernel>(request,
                                             [copies = std::move(copies), output, activation, streams, clears](
                                                 Operands operands, const StepContext& /*context*/) -> Status {
#pragma omp parallel
                                               {
                                                 if (clears) copies[0].clear_rest(operands[output]);
                                                 for (std::size_t i = 0; i < copies.size(); ++i)
                                                   copies[i].run(operands[i], operands[output], activation, streams);
                                                 if (streams) finish_streaming();
                                               }
                                               return {};
                                             });
  set_layouts(*kernel, request, blocked);
  return kernel;
}

// Of the op's one input to its output: the part [begin, end) of x (a slice) or of y (padding), which the caller
// says.
AxisCopy::Range one_range(const KernelRequest& request) {
  const auto& part = request.as<graph::PartAttributes>();
  return {.from = request.inputs[0].shape,
          .to = request.outputs[0].shape,
          .axis = part.axis,
          .extent = part.end - part.begin,
          .dtype = request.inputs[0].dtype,
          .blocked = any_blocked(request)};
}

KernelPtr make_concat(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const bool blocked = any_blocked(request);
  const graph::Shape& y = request.outputs[0].shape;
  const std::int64_t along = request.as<graph::ConcatAttributes>().axis;
  const auto axis = as_index(along);
  std::vector<AxisCopy> copies;
  std::int64_t begin = 0;
  for (const OperandRequest& x : request.inputs) {
    copies.emplace_back(AxisCopy::Range{.from = x.shape,
                                        .to = y,
                                        .axis = along,
                                        .to_begin = begin,
                                        .extent = x.shape[axis],
                                        .dtype = x.dtype,
                                        .blocked = blocked});
    begin += x.shape[axis];
  }
  return make_copies(request, std::move(copies), blocked, false);
}

KernelPtr make_slice(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  AxisCopy::Range range = one_range(request);
  range.from_begin = request.as<graph::PartAttributes>().begin;
  return make_copies(request, {AxisCopy(range)}, range.blocked, false);
}

KernelPtr make_pad(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  AxisCopy::Range range = one_range(request);
  range.to_begin = request.as<graph::PartAttributes>().begin;
  return make_copies(request, {AxisCopy(range)}, range.blocked, true);
}

}  // namespace

KernelMakers concat_kernels() {
  return {
      {graph::OpKind::kConcat, make_concat},
      {graph::OpKind::kSlice, make_slice},
      {graph::OpKind::kPad, make_pad},
  };
}

}  // namespace sluice::kernels
