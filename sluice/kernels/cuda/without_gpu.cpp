#include "sluice/gpu/no_cuda.hpp"
#include "sluice/kernels/cuda/cuda_backend.hpp"

namespace sluice::kernels {
namespace {

// Known by its name, so that asking for it says what is missing.
class AbsentBackend : public Backend {
 public:
  std::string name() const override { return "cuda"; }
  Result<std::unique_ptr<CompiledGraph>> compile(const graph::Graph& /*logical*/,
                                                 const std::vector<int>& /*threads*/) override {
    return gpu::no_cuda();
  }
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend() { return std::make_unique<AbsentBackend>(); }

}  // namespace sluice::kernels
