#include "sluice/exec/gpu_executor.hpp"
#include "sluice/gpu/no_cuda.hpp"

namespace sluice::exec {

Result<std::unique_ptr<Executor>> make_gpu_executor(std::shared_ptr<RunMemory> /*memory*/,
                                                    program::Program /*program*/) {
  return gpu::no_cuda();
}

}  // namespace sluice::exec
