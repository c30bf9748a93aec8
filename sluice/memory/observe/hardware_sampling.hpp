// Memory accesses as the processor itself samples them (Intel's PEBS, AMD's IBS, through perf_event_open): next to no
// slowdown, but a sample of accesses instead of all of them, and only where there is such hardware. Virtual machines
// usually have none, and Debian's kernels let ordinary users sample only with kernel.perf_event_paranoid <= 2.
// open_hardware_sampler() then says which of the two is the reason.
//
// The sampler counts loads and stores that missed the TLB. Each sample stands for as many of them as the sampling
// period. It samples the threads that the process has when open_hardware_sampler() is called.
#pragma once

#include <memory>

#include "sluice/base/result.hpp"
#include "sluice/memory/observe/memory_samples.hpp"

namespace sluice::memory {

// kUnsupported where processor or kernel have no memory sampling, or do not allow it.
Result<std::unique_ptr<SampleSource>> open_hardware_sampler();

}  // namespace sluice::memory
