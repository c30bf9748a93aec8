// Builders of machines: the host as it is, and slow tiers by name, real (`file`, `numa:1`) or emulated from published
// figures. With a GPU, its memory is the fast tier and `host` (pinned memory) the slow one.
//
// Slow tiers are named nearest first: their order is the order in which they are filled. Each is joined to the fast
// tier by a link each way, and to no other slow tier, but for files behind a processor's own memory (processors.hpp). Every emulated number is in kind_emulated.cpp's table beside its
// source. A link throttle replaces the bandwidth of all links and marks them throttled, so that every output shows them
// as emulated. Errors: a tier unknown or named twice, a path or a memory node that does not exist.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/memory/gpu_facts.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/processors.hpp"

namespace sluice::memory {

// Tier 0 alone: the host's DRAM. Bandwidths are nominal until measured (probe/probe.hpp).
Machine host_machine(int threads);

// Names for SlowTierOptions::name that mean something on every machine; numa:N does where there are nodes
// (numa_tiers.hpp).
std::vector<std::string> slow_tier_names();

struct SlowTierOptions {
  std::string name = "file";
  Bytes capacity = 0;  // 0: what the host's memory, the node or the file system offers
};

struct MachineOptions {
  int threads = 1;
  std::vector<SlowTierOptions> slow = {{}};           // nearest first; none: the fast tier alone
  std::string spill_path = {};                        // `file` only: see spill_file.hpp; empty: default_spill_path()
  std::optional<BytesPerSecond> link_bandwidth = {};  // imposed on all links
  std::vector<ProcessorRequest> processors = {};      // none: the CPU alone, with `threads`
  std::optional<GpuFacts> gpu = {};                   // its memory is the fast tier, and it is the one processor
};

// A slow tier as a user names it: "file", "optane:2GiB", "numa:1", "numa:0,1:8GiB", "optane:25%" (of what everything
// takes in the fast tier).
struct SlowTierRequest {
  std::string name;
  std::optional<MemorySize> capacity;  // nothing: all there is

  bool is_share() const { return capacity && std::holds_alternative<double>(capacity->value); }
};

// kBadInput for a capacity that is none or below a page; names are known to make_machine() alone.
Result<SlowTierRequest> parse_slow_tier(std::string_view text);

// $TMPDIR, else /var/tmp, which by convention is on a disk, whereas /tmp may be in memory.
std::string default_spill_path();

// "8.0 GiB", and whose limit that is where it is not the machine's own (base/limits/memory_allowance.hpp).
std::string describe_capacity(const Tier& tier);

// The host's DRAM and the slow tiers asked for.
Result<Machine> make_machine(const MachineOptions& options);

}  // namespace sluice::memory
