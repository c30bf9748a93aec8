#include "sluice/base/as_index.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"

namespace sluice::kernels {
namespace {

KernelPtr make_input(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  std::vector<std::size_t> sizes;
  for (const OperandRequest& output : request.outputs)
    sizes.push_back(as_index(graph::element_count(output.shape) * size_of(output.dtype)));
  return std::make_unique<LoopKernel>(request,
                                      [sizes, attributes = request.as<graph::InputAttributes>(),
                                       tensors = std::vector<std::span<std::byte>>(sizes.size())](
                                          Operands operands, const StepContext& context) mutable -> Status {
                                        SLUICE_CHECK(context.input != nullptr,
                                                     "a step with an input op needs an input source");
                                        for (std::size_t i = 0; i < sizes.size(); ++i)
                                          tensors[i] = {operand<std::byte>(operands, i), sizes[i]};
                                        return context.input->fill(batch_of(attributes, context.step), tensors);
                                      });
}

}  // namespace

KernelMakers input_kernels() {
  return {
      {graph::OpKind::kInput, make_input},
  };
}

}  // namespace sluice::kernels
