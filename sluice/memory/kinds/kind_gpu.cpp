// A GPU's own memory, which it maps itself (device_memory.hpp).
#include "sluice/memory/arena.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {
namespace {

constexpr TierTraits kGpuTraits{.name = "gpu", .device_reaches = true, .figures = FiguresFrom::kTheDevice};

}  // namespace

constinit const TierKind TierKind::kGpu{kGpuTraits};

}  // namespace sluice::memory
