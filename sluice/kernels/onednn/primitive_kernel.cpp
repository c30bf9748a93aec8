#include "sluice/kernels/onednn/primitive_kernel.hpp"

namespace sluice::kernels {

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void PrimitiveKernel::bind(int argument, std::size_t operand, const Layout& layout, Bytes offset) {
  dnnl::memory memory(layout, stream_.get_engine(), DNNL_MEMORY_NONE);
  const bool clears = kIsOneDnn3 && operand < inputs.size();
  bindings_.push_back({operand, offset, memory, clears ? Padding(layout) : Padding()});
  arguments_.insert({argument, memory});
}

void PrimitiveKernel::bind_scratchpad() {
  if (workspace_bytes > 0) bind(DNNL_ARG_SCRATCHPAD, inputs.size() + outputs.size(), scratchpad_);
}

Status PrimitiveKernel::run(std::span<void* const> operands, const StepContext& /*context*/) {
  for (Binding& binding : bindings_) {
    std::byte* const bytes = static_cast<std::byte*>(operands[binding.operand]) + binding.offset;
    binding.memory.set_data_handle(bytes);
    if (!binding.padding.empty()) binding.padding.clear(bytes);
  }
  primitive_.execute(stream_, arguments_);
  stream_.wait();
  if (epilogue_) epilogue_(operands);
  return {};
}

}  // namespace sluice::kernels
