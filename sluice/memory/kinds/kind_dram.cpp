// Ordinary memory: the fast tier of a host.
#include "sluice/memory/arena.hpp"
#include "sluice/memory/building.hpp"

namespace sluice::memory {
namespace {

constexpr TierTraits kDramTraits{.name = "dram",
                                 .host_reaches = true,
                                 .can_stitch = true,
                                 .figures = FiguresFrom::kHostMemory,
                                 .map = map_host_memory};

}  // namespace

constinit const TierKind TierKind::kDram{kDramTraits};

}  // namespace sluice::memory
