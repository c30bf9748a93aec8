// The GPU's memory and host memory that it copies to and from at full speed, without a word of CUDA for whoever uses
// it. In builds without CUDA every function answers kUnsupported.
//
// Device memory is taken by plain allocations of exactly the bytes asked for, never as managed memory, so that nothing
// moves but what a plan moves. Pinned memory is resident from the start: it takes 0.3 s per GiB to reserve.
#pragma once

#include <cstddef>
#include <string>

#include "sluice/base/result.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/device_memory.hpp"
#include "sluice/memory/gpu_facts.hpp"

namespace sluice::gpu {

// The GPU that this process computes on. kUnsupported where there is none, or the build has no CUDA.
Result<memory::GpuFacts> find_gpu();

// Errors: kOutOfSpace with what was asked for and what is free.
Result<memory::Arena> map_device_arena(Bytes bytes, const std::string& name);
Result<memory::Arena> map_pinned_arena(Bytes bytes, const std::string& name);

// Between any two of host, pinned and device memory; done when it returns.
Status copy_gpu_bytes(void* to, const void* from, std::size_t bytes);
Status clear_gpu_bytes(void* from, std::size_t bytes);

// Tiers of a machine with a GPU: what the host reaches too is pinned.
inline Result<memory::Arena> map_gpu_tier(const memory::Tier& tier, Bytes bytes) {
  return tier.kind->host_reaches ? map_pinned_arena(bytes, tier.name) : map_device_arena(bytes, tier.name);
}
inline constexpr memory::DeviceMemory kGpuMemory{map_gpu_tier, copy_gpu_bytes};

}  // namespace sluice::gpu
