// Memory that a device owns, or reaches at full speed: how tiers of it are mapped and copied. Whoever knows the device
// gives it (gpu/gpu_memory.hpp), because the memory core knows no driver.
#pragma once

#include <cstddef>

#include "sluice/memory/arena.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

struct DeviceMemory {
  Result<Arena> (*map)(const Tier& tier, Bytes bytes);
  // Between any two of host and device memory; done when it returns.
  Status (*copy)(void* to, const void* from, std::size_t bytes);
};

}  // namespace sluice::memory
