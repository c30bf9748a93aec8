// Runs a Program whose fast tier is a GPU's memory.
//
// One stream for ops, one for each link between device and pinned memory; every wait of the program is an event that a
// stream waits for. The host puts a whole step on the streams, fills the input of the next step meanwhile, and waits
// once, at the end. From the third step on, where nothing but the GPU takes part, the step is one CUDA graph.
//
// Links of a file tier have lanes of their own (exec/lane.hpp) and a pinned buffer on the way (staged_file_engine.hpp).
// There the host waits for a file before it puts what needs it on a stream, and one thread tells the lanes what the GPU
// has finished.
//
// Unsupported: encoded transfers, emulated tiers, stitched memory, several processors.
#pragma once

#include <memory>
#include <span>

#include "sluice/exec/executor.hpp"

namespace sluice {

// As Executor::create(). kUnsupported in builds without CUDA.
Result<std::unique_ptr<Executor>> make_gpu_executor(CompiledGraph& compiled, const Machine& machine, Program program,
                                                    std::span<const Bytes> budgets);

}  // namespace sluice
