// A kernel that is a loop of our own: for ops where oneDNN has no primitive, or one that takes more passes over memory.
//
// The body gets the operands (inputs, then outputs, then scratch when workspace_bytes is set) and the step's context.
// Bodies share work between threads so that the number of threads changes no bit: elements are independent, and sums
// run over fixed parts in a fixed order. All layouts start row-major; a maker changes the layouts of operands that its
// loop reads as they lie.
#pragma once

#include <functional>

#include "sluice/kernels/onednn/kernel/kernel.hpp"

namespace sluice::kernels {

using Operands = std::span<void* const>;

template <typename T>
T* operand(Operands operands, std::size_t index) {
  return static_cast<T*>(operands[index]);
}

class LoopKernel : public Kernel {
 public:
  using Body = std::function<Status(Operands, const StepContext&)>;

  LoopKernel(const KernelRequest& request, Body body) : body_(std::move(body)) {
    implementation = "loop";
    inputs = plain_layouts(request.inputs);
    outputs = plain_layouts(request.outputs);
  }
  Status run(Operands operands, const StepContext& context) override { return body_(operands, context); }

 private:
  Body body_;
};

// The layout in which a loop over stored elements reads an operand: as it lies, or row-major where nothing is decided
// or the layout is padded (a function of the zeros in padding need not be zero).
Layout flat_layout(const OperandRequest& operand);

// Elements that a layout stores, padding included.
std::int64_t stored_elements(const Layout& layout);

}  // namespace sluice::kernels
