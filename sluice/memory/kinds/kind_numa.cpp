// The memory of one NUMA node as a tier.
#include <fmt/format.h>

#include "sluice/memory/building.hpp"
#include "sluice/memory/numa_arena.hpp"
#include "sluice/memory/numa_tiers.hpp"
#include "sluice/memory/presets.hpp"

namespace sluice::memory {
namespace {

// The fast tier is a node's memory too, the same one for all slow nodes.
Status add_numa(const SlowTierOptions& options, const std::string& /*spill_path*/, Machine& machine) {
  SLUICE_ASSIGN(NumaRequest request, parse_numa_request(options.name));
  request.slow_capacity = options.capacity;
  SLUICE_ASSIGN(const NumaTopology topology, read_numa_topology());
  SLUICE_ASSIGN(const std::vector<Tier> tiers, choose_numa_tiers(request, topology, host_machine(1).tier(kFastTier)));
  Tier& fast = machine.tiers.front();
  if (fast.node >= 0 && fast.node != tiers.front().node) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("--slow {}: another slow tier made memory node {} the fast one", options.name, fast.node)};
  }
  fast = tiers.front();
  join_as_fast_as_ends(add_tier(tiers.back(), machine), machine);
  return {};
}

constexpr TierTraits kNumaTraits{
    .name = "numa",
    .host_reaches = true,
    .figures = FiguresFrom::kTheTier,
    .map = [](const Tier& tier, Bytes bytes) { return map_arena_on_node(bytes, tier.name, tier.node); },
    .settle = [](const Tier& tier, const Arena& arena) { return bind_to_node(arena, tier.name, tier.node); },
    .place = [](const Tier& tier, std::span<std::byte> pages) { return move_to_node(pages, tier.name, tier.node); },
    .is_named = is_numa_request,
    .add = add_numa};

}  // namespace

constinit const TierKind TierKind::kNuma{kNumaTraits};

}  // namespace sluice::memory
