// Chooses the two tiers of a machine whose slow memory is a NUMA node: `numa:1`, node 1 beside the node that the
// compute threads run on, or `numa:0,1`, both named (fast, slow).
//
// Both tiers get real memory of their node (numa_arena.hpp), so both are of kind kNuma. Capacity: what is free on the
// node now. Bandwidths and latency: from firmware where it speaks of both nodes (numa_figures.hpp), otherwise nominal
// figures scaled by the firmware's distances, to be replaced by measured ones (probe/probe.hpp): figures of two
// origins would not compare. Errors name what is wrong and which nodes there are.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sluice/memory/machine.hpp"
#include "sluice/memory/numa_figures.hpp"
#include "sluice/memory/numa_topology.hpp"

namespace sluice::memory {

struct NumaRequest {
  std::optional<int> fast;  // nothing: where the compute threads run
  int slow = 0;
  Bytes slow_capacity = 0;  // 0: what is free
};

// Does `--slow` ask for a memory node? "numa", "numa:1", "numa:" and anything else that begins like that.
bool is_numa_request(std::string_view slow_tier);

// kBadInput for anything but numa:N and numa:FAST,SLOW.
Result<NumaRequest> parse_numa_request(std::string_view slow_tier);

// The fast tier and the slow one. `local` is a tier of this machine's ordinary memory, whose nominal figures hold for a
// distance of 10. `nodes`: kNodeFolder, or a test's.
Result<std::vector<Tier>> choose_numa_tiers(const NumaRequest& request, const NumaTopology& topology, const Tier& local,
                                            const std::filesystem::path& nodes = kNodeFolder);

}  // namespace sluice::memory
