// Runs a Program whose fast tier is a GPU's memory.
//
// One stream for ops, one for each link between device and pinned memory; every wait of the program is an event that a
// stream waits for. The host puts a whole step on the streams, fills the input of the next step meanwhile, and waits
// once, at the end. From the third step on a step that moves nothing is one CUDA graph. One that moves is not: a graph
// puts nodes of several branches into one hardware queue, and an op that waited for nobody began up to 5 ms late, behind
// another branch's copy (ResNet-50 in half its memory on an H100: 103 ms a step).
//
// Unsupported: encoded transfers, file and emulated tiers, stitched memory, several processors.
#pragma once

#include <memory>

#include "sluice/exec/executor.hpp"

namespace sluice::exec {

// As Executor::create(). kUnsupported in builds without CUDA.
Result<std::unique_ptr<Executor>> make_gpu_executor(std::shared_ptr<RunMemory> memory, program::Program program);

}  // namespace sluice::exec
