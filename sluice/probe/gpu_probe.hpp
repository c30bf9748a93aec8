// Measures the GPU's memory and its links to pinned memory: each way beside compute (gpu_load.hpp) and both ways at
// once, and what copies cost the ops beside them. Takes about 2 s.
#pragma once

#include <span>

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::probe {

// The links between device and pinned memory, one or two of them. kUnsupported in builds without CUDA.
Status measure_gpu_links(memory::Machine& machine, std::span<const memory::LinkId> links);
// What a copy within the device reads and writes.
Status measure_gpu_memory(memory::Tier& tier);

}  // namespace sluice::probe
