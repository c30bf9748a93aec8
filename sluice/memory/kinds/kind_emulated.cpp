// Memory that one does not have: ordinary memory outside the fast arena, slowed down to published figures.
#include <algorithm>
#include <array>

#include "sluice/memory/arena.hpp"
#include "sluice/memory/building.hpp"
#include "sluice/memory/presets.hpp"

namespace sluice::memory {
namespace {

constexpr double kGB = 1e9;

struct EmulatedPreset {
  std::string_view name;
  bool addressable;
  BytesPerSecond read_bandwidth;   // in order
  BytesPerSecond write_bandwidth;  // in whole granules
  Bytes granule;
  Seconds latency;
  BytesPerSecond link_to_fast;
  BytesPerSecond link_from_fast;
  Seconds link_latency;  // of one transfer
  CopiedBy copied_by;
};

// optane  Six interleaved 128 GB modules on one socket, as AutoTM's and Sentinel's machines had them. Izraelevitz et al.,
//         "Basic performance measurements of the Intel Optane DC persistent memory module" (2019): reads 39.4 GB/s,
//         writes 13.9 GB/s, a quarter of that where they do not fill granules of 256 bytes, 305 ns a random read.
//         Copies: AutoTM, artifact, by the processors' streaming instructions, 29 GB/s to DRAM and 12 GB/s from it. (Its
//         asynchronous figures, 2.0 and 2.5 GB/s, are of its one copying thread; a link bandwidth of 2GB/s stands for
//         them.)
// pmbd    ReDL table I: slow memory 19 GB/s, 200 ns. Lines are written as they come. Copies are limited by it.
// pcie3   A GPU's view of host memory over PCIe 3.0 x16: AutoTM section 7.2, 12 GB/s each way, by the GPU's own engines.
//         10 us to start a copy is our assumption.
constexpr std::array<EmulatedPreset, 3> kPresets{{
    {"optane", true, 39.4 * kGB, 13.9 * kGB, 256, 305e-9, 29 * kGB, 12 * kGB, 305e-9, CopiedBy::kProcessor},
    {"pmbd", true, 19 * kGB, 19 * kGB, 64, 200e-9, 19 * kGB, 19 * kGB, 200e-9, CopiedBy::kProcessor},
    {"pcie3", false, 12 * kGB, 12 * kGB, 64, 10e-6, 12 * kGB, 12 * kGB, 10e-6, CopiedBy::kDma},
}};

Tier emulated_tier(const EmulatedPreset& preset, Bytes capacity) {
  Tier tier;
  tier.name = preset.name;
  tier.kind = TierKind::kEmulated;
  tier.capacity = capacity > 0 ? capacity : memory_capacity();
  tier.read_bandwidth = preset.read_bandwidth;
  tier.write_bandwidth = preset.write_bandwidth;
  tier.granule = preset.granule;
  tier.latency = preset.latency;
  tier.addressable = preset.addressable;
  tier.provenance = Provenance::kEmulated;
  return tier;
}

Link emulated_link(TierId from, TierId to, BytesPerSecond bandwidth, const EmulatedPreset& preset) {
  Link link;
  link.from = from;
  link.to = to;
  link.bandwidth = bandwidth;
  link.latency = preset.link_latency;
  link.throttled = true;
  link.copied_by = preset.copied_by;
  link.provenance = Provenance::kEmulated;
  return link;
}

const EmulatedPreset* find_preset(std::string_view name) {
  const auto preset = std::ranges::find(kPresets, name, &EmulatedPreset::name);
  return preset == kPresets.end() ? nullptr : &*preset;
}

Status add_emulated(const SlowTierOptions& options, const std::string& /*spill_path*/, Machine& machine) {
  const EmulatedPreset& preset = *find_preset(options.name);
  const TierId slow = add_tier(emulated_tier(preset, options.capacity), machine);
  machine.links.push_back(emulated_link(slow, kFastTier, preset.link_to_fast, preset));
  machine.links.push_back(emulated_link(kFastTier, slow, preset.link_from_fast, preset));
  return {};
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const EmulatedPreset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

constexpr TierTraits kEmulatedTraits{.name = "emulated",
                                     .host_reaches = true,
                                     .emulated = true,
                                     .figures = FiguresFrom::kPresets,
                                     .map = map_host_memory,
                                     .names = preset_names,
                                     .is_named = [](std::string_view name) { return find_preset(name) != nullptr; },
                                     .add = add_emulated};

}  // namespace

constinit const TierKind TierKind::kEmulated{kEmulatedTraits};

}  // namespace sluice::memory
