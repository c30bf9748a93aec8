#include "sluice/kernels/onednn/reordered_weights.hpp"

#include <array>

namespace sluice::kernels {
namespace {

constexpr Bytes kCopyAlignment = 64;  // a cache line, as operands have

class ReorderedWeights : public Kernel {
 public:
  ReorderedWeights(KernelPtr kernel, const KernelRequest& request, std::size_t weights, const dnnl::engine& engine)
      : kernel_(std::move(kernel)), weights_(weights), written_(weights >= request.inputs.size()) {
    implementation = kernel_->implementation + " with weights reordered";
    inputs = kernel_->inputs;
    outputs = kernel_->outputs;
    Layout& outside = written_ ? outputs[weights - inputs.size()] : inputs[weights];
    const Layout inside = outside;
    outside = *(written_ ? request.outputs[weights - inputs.size()] : request.inputs[weights]).layout;
    reorder_ = written_ ? make_reorder(inside, outside, engine) : make_reorder(outside, inside, engine);
    copy_begin_ = align_up(kernel_->workspace_bytes, kCopyAlignment);
    workspace_bytes = copy_begin_ + bytes_of(inside);
    operands_.resize(inputs.size() + outputs.size() + 1);
  }

  Status run(std::span<void* const> operands, const StepContext& context) override {
    const std::size_t workspace = operands_.size() - 1;
    std::copy_n(operands.begin(), operands_.size(), operands_.begin());
    void* const copy = static_cast<std::byte*>(operands[workspace]) + copy_begin_;
    operands_[weights_] = copy;
    if (!written_) SLUICE_RETURN_IF_ERROR(reorder_->run(std::array{operands[weights_], copy}, context));
    SLUICE_RETURN_IF_ERROR(kernel_->run(operands_, context));
    return written_ ? reorder_->run(std::array{copy, operands[weights_]}, context) : Status();
  }

 private:
  KernelPtr kernel_;
  KernelPtr reorder_;
  std::size_t weights_;
  bool written_;  // the operand is an output
  Bytes copy_begin_ = 0;
  std::vector<void*> operands_;  // of the run under way; the last is the workspace
};

}  // namespace

KernelPtr with_weights_reordered(KernelPtr kernel, const KernelRequest& request, std::size_t weights,
                                 const dnnl::engine& engine) {
  const std::size_t inputs = request.inputs.size();
  const bool written = weights >= inputs;
  const Layout& has = written ? kernel->outputs[weights - inputs] : kernel->inputs[weights];
  const Layout& wanted = *(written ? request.outputs[weights - inputs] : request.inputs[weights]).layout;
  if (same_bytes(has, wanted)) return kernel;
  return std::make_unique<ReorderedWeights>(std::move(kernel), request, weights, engine);
}

}  // namespace sluice::kernels
