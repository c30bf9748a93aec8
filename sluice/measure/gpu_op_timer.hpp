// Times single ops on the GPU by events on its stream, behind a short delay, so that the op is on the stream before the
// GPU comes to it and no launch latency is in its time.
#pragma once

#include <memory>

#include "sluice/kernels/backend.hpp"
#include "sluice/measure/op_timer.hpp"

namespace sluice::measure {

// Whether the graph's kernels run on a GPU.
bool runs_on_gpu(const kernels::CompiledGraph& compiled);

// kUnsupported in builds without CUDA.
Result<std::unique_ptr<OpTimer>> make_gpu_op_timer(kernels::CompiledGraph& compiled);

}  // namespace sluice::measure
