#include "sluice/gpu/no_cuda.hpp"
#include "sluice/measure/gpu_op_timer.hpp"

namespace sluice::measure {

bool runs_on_gpu(const kernels::CompiledGraph& /*compiled*/) { return false; }
Result<std::unique_ptr<OpTimer>> make_gpu_op_timer(kernels::CompiledGraph& /*compiled*/) { return gpu::no_cuda(); }

}  // namespace sluice::measure
