// A kernel that is one oneDNN primitive, with its memory objects made once and pointed at the operands for each run.
//
// Running costs about 2 us beyond the primitive itself: a handle per operand, no allocation of ours.
// Scratchpads are in user mode, so the library takes no memory of its own for them.
#pragma once

#include <functional>
#include <unordered_map>

#include "sluice/kernels/onednn/interface/describe.hpp"
#include "sluice/kernels/onednn/interface/padding.hpp"
#include "sluice/kernels/onednn/kernel/kernel.hpp"

namespace sluice::kernels {

// The attributes that every primitive starts from: scratchpad in user mode.
dnnl::primitive_attr user_scratchpad();

class PrimitiveKernel : public Kernel {
 public:
  template <typename PrimitiveDesc>
  PrimitiveKernel(const dnnl::primitive& primitive, const PrimitiveDesc& desc, const dnnl::engine& engine)
      : primitive_(primitive), stream_(engine), scratchpad_(desc.scratchpad_desc()) {
    implementation = desc.impl_info_str();
    workspace_bytes = bytes_of(scratchpad_);
  }

  // Argument `argument` of the primitive is operand `operand` (inputs, then outputs), from byte `offset`.
  void bind(int argument, std::size_t operand, const Layout& layout, Bytes offset = 0);

  // Called last: the scratchpad is the operand after `inputs` and `outputs`, which must be set.
  void bind_scratchpad();

  // Runs after the primitive, on the same operands.
  void then(std::function<void(std::span<void* const>)> epilogue) { epilogue_ = std::move(epilogue); }

  Status run(std::span<void* const> operands, const StepContext& context) override;

 private:
  struct Binding {
    std::size_t operand;
    Bytes offset;
    dnnl::memory memory;
    Padding padding;  // of what is read: perhaps not zeros
  };

  dnnl::primitive primitive_;
  dnnl::stream stream_;
  Layout scratchpad_;
  std::vector<Binding> bindings_;
  std::unordered_map<int, dnnl::memory> arguments_;
  std::function<void(std::span<void* const>)> epilogue_;
};

}  // namespace sluice::kernels
