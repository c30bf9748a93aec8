#include "sluice/exec/gpu_executor.hpp"
#include "sluice/gpu/no_cuda.hpp"

namespace sluice::exec {

Result<std::unique_ptr<Executor>> make_gpu_executor(kernels::CompiledGraph& /*compiled*/,
                                                    const memory::Machine& /*machine*/, program::Program /*program*/,
                                                    std::span<const Bytes> /*budgets*/) {
  return gpu::no_cuda();
}

}  // namespace sluice::exec
