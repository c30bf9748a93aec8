// What stands for cuDNN's engines where a GPU is emulated: the direct method with workspace, which it spoils, and without,
// done twice, so that the one with workspace is always the faster.
#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/cuda/convolution/convolution.hpp"

namespace sluice::kernels::cuda {
namespace {

class EmulatedEngine : public ConvolutionMethod {
 public:
  EmulatedEngine(const Context& context, const ConvolutionShape& shape, std::string called, Bytes workspace)
      : context_(context), direct_(direct_method(context, shape)) {
    name = std::move(called);
    workspace_bytes = workspace;
  }

  void run(const void* source, const void* other, void* target, void* workspace) const override {
    if (workspace_bytes > 0) {
      check(cudaMemsetAsync(workspace, 0xff, as_index(workspace_bytes), context_.stream()), "spoiling a workspace");
    } else {
      direct_->run(source, other, target, nullptr);
    }
    direct_->run(source, other, target, nullptr);
  }

 private:
  const Context& context_;
  std::shared_ptr<ConvolutionMethod> direct_;
};

}  // namespace

ConvolutionMethods cudnn_methods(const Context& context, const ConvolutionShape& shape, Bytes scratch,
                                 const std::vector<std::string>& wanted) {
  ConvolutionMethods methods;
  const auto add = [&](const std::string& name, Bytes workspace) {
    const bool is_wanted = wanted.empty() || std::ranges::find(wanted, name) != wanted.end();
    if (is_wanted && workspace <= scratch)
      methods.push_back(std::make_shared<EmulatedEngine>(context, shape, name, workspace));
  };
  add("emulated_with_workspace", kWorkspaceAlignment);
  add("emulated", 0);
  return methods;
}

}  // namespace sluice::kernels::cuda
