#include "sluice/exec/gpu_executor.hpp"
#include "sluice/gpu/no_cuda.hpp"

namespace sluice {

Result<std::unique_ptr<Executor>> make_gpu_executor(CompiledGraph& /*compiled*/, const Machine& /*machine*/,
                                                    Program /*program*/, std::span<const Bytes> /*budgets*/) {
  return no_cuda();
}

}  // namespace sluice
