// Host memory that a GPU's copy engines reach at full speed, and that the GPU's driver maps (device_memory.hpp).
#include "sluice/memory/arena.hpp"
#include "sluice/memory/building.hpp"
#include "sluice/memory/presets.hpp"

namespace sluice::memory {
namespace {

constexpr const char* kHostName = "host";

// PCIe 4.0 x16 until it is measured.
constexpr BytesPerSecond kNominalGpuLink = 25e9;
constexpr Seconds kGpuLinkLatency = 10e-6;

// The host's memory, of which a good part must stay pageable.
Status add_pinned(const SlowTierOptions& slow, const std::string& /*spill_path*/, Machine& machine) {
  if (machine.tier(kFastTier).kind->host_reaches)
    return bad_input("--slow host: pinned memory is for a GPU: add --gpu");
  constexpr double kPinnable = 0.75;
  Tier tier;
  tier.name = kHostName;
  tier.kind = TierKind::kPinned;
  tier.capacity = slow.capacity > 0 ? slow.capacity : share_of(kPinnable, memory_capacity());
  tier.read_bandwidth = tier.write_bandwidth = kNominalDramBandwidth;
  tier.latency = kDramLatency;
  tier.addressable = false;
  join_to_fast(add_tier(tier, machine),
               {.bandwidth = kNominalGpuLink, .latency = kGpuLinkLatency, .copied_by = CopiedBy::kDma}, machine);
  return {};
}

constexpr TierTraits kPinnedTraits{.name = "pinned",
                                   .host_reaches = true,
                                   .device_reaches = true,
                                   .is_named = [](std::string_view name) { return name == kHostName; },
                                   .add = add_pinned};

}  // namespace

constinit const TierKind TierKind::kPinned{kPinnedTraits};

}  // namespace sluice::memory
