#include "sluice/kernels/cuda/cuda_backend.hpp"

#include "sluice/kernels/cuda/cuda_graph.hpp"

namespace sluice::kernels {
namespace {

class CudaBackend : public Backend {
 public:
  using Backend::compile;
  std::string name() const override { return "cuda"; }

  Result<std::unique_ptr<CompiledGraph>> compile(const graph::Graph& logical,
                                                 const std::vector<int>& /*threads*/) override {
    SLUICE_ASSIGN(std::shared_ptr<cuda::Context> context, cuda::Context::get());
    try {
      cuda::LoweredGraph lowered = cuda::lower(*context, logical);
      return std::unique_ptr<CompiledGraph>(std::make_unique<cuda::CudaGraph>(std::move(context), std::move(lowered)));
    } catch (const gpu::CudaFailure& failure) {
      return Error{ErrorCode::kUnsupported,
                   "the GPU has no kernel for an op of " + logical.name + ": " + failure.what()};
    }
  }
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend() { return std::make_unique<CudaBackend>(); }

}  // namespace sluice::kernels
