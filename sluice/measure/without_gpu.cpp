#include "sluice/gpu/no_cuda.hpp"
#include "sluice/measure/gpu_op_timer.hpp"

namespace sluice {

bool runs_on_gpu(const CompiledGraph& /*compiled*/) { return false; }
Result<std::unique_ptr<OpTimer>> make_gpu_op_timer(CompiledGraph& /*compiled*/) { return no_cuda(); }

}  // namespace sluice
