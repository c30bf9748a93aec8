#include "sluice/memory/building.hpp"

#include <algorithm>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/limits/memory_allowance.hpp"
#include "sluice/memory/arena.hpp"

namespace sluice::memory {

Bytes memory_capacity() { return memory_allowance().bytes; }

TierId add_tier(Tier tier, Machine& machine) {
  machine.tiers.push_back(std::move(tier));
  return as_id<TierId>(machine.tiers.size()) - 1;
}

void join_to_fast(TierId slow, Link link, Machine& machine) {
  for (const auto& [from, to] : {std::pair{slow, kFastTier}, std::pair{kFastTier, slow}}) {
    link.from = from;
    link.to = to;
    machine.links.push_back(link);
  }
}

void join_as_fast_as_ends(TierId slow, Machine& machine) {
  for (const auto& [from, to] : {std::pair{slow, kFastTier}, std::pair{kFastTier, slow}}) {
    Link link;
    link.from = from;
    link.to = to;
    link.bandwidth = std::min(machine.tier(from).read_bandwidth, machine.tier(to).write_bandwidth);
    link.latency = machine.tier(slow).latency;
    machine.links.push_back(link);
  }
}

Result<Arena> map_host_memory(const Tier& tier, Bytes bytes) { return Arena::map(bytes, tier.name); }

}  // namespace sluice::memory
