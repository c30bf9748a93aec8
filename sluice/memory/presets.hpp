// Builders of machines: the host as it is, and slow tiers by name, real (`file`, `numa:1`) or emulated from published
// figures.
//
// Every emulated number is in presets.cpp's table beside its source. A link throttle replaces the bandwidth of both
// links and marks them throttled, so that every output shows them as emulated. Errors: unknown tier name, a path or a
// memory node that does not exist.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice {

// Tier 0 alone: the host's DRAM. Bandwidths are nominal until measured (exec/transfer/probe.hpp).
Machine host_machine(int threads);

// Names for MachineOptions::slow_tier that mean something on every machine; numa:N does where there are nodes
// (numa_tiers.hpp).
std::vector<std::string> slow_tier_names();

struct MachineOptions {
  int threads = 1;
  std::string slow_tier = "file";                     // empty: no slow tier
  std::string spill_path = {};                        // `file` only: see spill_file.hpp; empty: default_spill_path()
  Bytes slow_capacity = 0;                            // 0: what the host's memory, the node or the file system offers
  std::optional<BytesPerSecond> link_bandwidth = {};  // imposed on both links
};

// $TMPDIR, else /var/tmp, which by convention is on a disk, whereas /tmp may be in memory.
std::string default_spill_path();

// The host's DRAM and the slow tier asked for, joined by a link each way.
Result<Machine> make_machine(const MachineOptions& options);

}  // namespace sluice
