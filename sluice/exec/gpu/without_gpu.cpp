// What a build without CUDA answers.
#include "sluice/exec/gpu/gpu_executor.hpp"
#include "sluice/exec/gpu/gpu_memory.hpp"
#include "sluice/exec/gpu/gpu_op_timer.hpp"
#include "sluice/exec/gpu/gpu_probe.hpp"

namespace sluice {
namespace {

Error no_cuda() {
  return {ErrorCode::kUnsupported,
          "this build has no CUDA: configure it where the CUDA toolkit, cuDNN and cuBLAS are installed "
          "(-D SLUICE_CUDA=ON says what is missing), or leave out --gpu"};
}

// Known by its name, so that asking for it says what is missing.
class AbsentBackend : public Backend {
 public:
  std::string name() const override { return "cuda"; }
  Result<std::unique_ptr<CompiledGraph>> compile(const Graph& /*logical*/,
                                                 const std::vector<int>& /*threads*/) override {
    return no_cuda();
  }
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend() { return std::make_unique<AbsentBackend>(); }

Result<GpuFacts> find_gpu() { return no_cuda(); }
Result<Arena> map_device_arena(Bytes /*bytes*/, const std::string& /*name*/) { return no_cuda(); }
Result<Arena> map_pinned_arena(Bytes /*bytes*/, const std::string& /*name*/) { return no_cuda(); }
Status copy_gpu_bytes(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) { return no_cuda(); }
Status clear_gpu_bytes(void* /*from*/, std::size_t /*bytes*/) { return no_cuda(); }

Result<std::unique_ptr<Executor>> make_gpu_executor(CompiledGraph& /*compiled*/, const Machine& /*machine*/,
                                                    Program /*program*/, std::span<const Bytes> /*budgets*/) {
  return no_cuda();
}

bool runs_on_gpu(const CompiledGraph& /*compiled*/) { return false; }
Result<std::unique_ptr<OpTimer>> make_gpu_op_timer(CompiledGraph& /*compiled*/) { return no_cuda(); }
Status measure_gpu_links(Machine& /*machine*/, std::span<const LinkId> /*links*/) { return no_cuda(); }
Status measure_gpu_memory(Tier& /*tier*/) { return no_cuda(); }

}  // namespace sluice
