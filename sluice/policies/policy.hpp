// Policies (online): they react to accesses as they happen, where a planner decides ahead.
//
// A policy stands for what moves memory underneath a framework: the kernel, the hardware, a GPU's driver. It sees pages
// (or cache lines) of a virtual address space, never tensors. It does not know which of them share a page, nor what was
// freed. Simulator and executor drive the same object and hand it the time, simulated or by the wall clock; a policy
// has no clock, no thread and no randomness of its own, so equal calls give equal answers.
//
// Nothing here moves a byte. A policy says what an access finds and what has to be copied; its caller charges the time
// (charge.hpp) or performs the copies (exec/policy/policy_executor.hpp).
//
// Addresses: bytes from 0 to PolicyMemory::address_bytes, as layout/page_layout.hpp places tensors. Fast frames are
// interchangeable, so only their number counts. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/base/interval.hpp"
#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/profile/cache_model.hpp"

namespace sluice::policies {

// One distinct operand of an op.
struct Access {
  Interval<Bytes> bytes;
  bool reads = false;
  bool writes = false;
  std::optional<profile::MemoryTraffic> traffic =
      {};  // of all its bytes; none: each is read or written once, past the caches

  profile::MemoryTraffic traffic_of(Bytes part) const;
};

// What an op's accesses find, and what happens for it.
struct AccessCharge {
  Bytes requested = 0;   // bytes of the operands, each once
  Bytes found_fast = 0;  // of these, those in fast memory when they were asked for; the rest is below
  std::int64_t operands = 0;
  std::int64_t operands_found = 0;  // of which every byte was found there

  // Served by the slow tier instead of the fast one, while the op runs: what passes between it and the caches.
  Bytes slow_read = 0;
  Bytes slow_written = 0;
  double slow_scattered = 0;  // reads that wait one by one

  // Traffic beside the op's own accesses that it waits for, line by line, while it runs: what a hardware cache does.
  Bytes extra_read = 0;     // from the slow tier: lines fetched to be overwritten
  Bytes extra_written = 0;  // to the slow tier: dirty lines that had to go
  Bytes filled = 0;         // into fast memory

  // Before the op may run.
  Bytes copied_in = 0;        // slow to fast
  Bytes copied_out = 0;       // fast to slow, at the same time as the other direction
  Seconds fault_seconds = 0;  // handling of faults

  AccessCharge& operator+=(const AccessCharge& other);
  void add_operand(Bytes bytes, Bytes found);
  void add_slow(const profile::MemoryTraffic& traffic);
};

// Pages that a policy's own threads have copied in a span of time.
struct BackgroundWork {
  Bytes in = 0;  // slow to fast
  Bytes out = 0;
  bool operator==(const BackgroundWork&) const = default;
};

class Policy {
 public:
  virtual ~Policy() = default;

  // An op that accesses these is about to run.
  virtual AccessCharge access(std::span<const Access> accesses, Seconds now) = 0;

  // A hint: these will be accessed soon (`upcoming`: of the next layer). Most policies ignore hints.
  virtual void expect(std::span<const Access> upcoming, Seconds now);

  // Time in which its own threads may work. Calls follow one another without overlap; a gap between them is time in
  // which they are held up.
  virtual BackgroundWork advance(Seconds from, Seconds to);

  // Figures of this kind of policy alone, counted since it was made: "faults", 12.
  virtual std::vector<std::pair<std::string, double>> figures() const;
};

// Where a policy works.
struct PolicyMemory {
  Bytes fast_bytes = 0;  // room in fast memory
  Bytes address_bytes = 0;
  BytesPerSecond bandwidth_in = 0;   // of the link slow to fast; 0: copies take no time
  BytesPerSecond bandwidth_out = 0;  // fast to slow
};

// What can be set. Each policy has its own defaults (PolicyEntry), says in its file where they come from, and ignores
// settings that it has no use for.
struct PolicyTuning {
  Bytes page_bytes = 4 * kKiB;                  // unit of placement; of a hardware cache: its line
  Seconds scan_period = 0;                      // between two passes over the accessed bits; 0: it makes none
  int copy_threads = 1;                         // that copy pages, each at copy_thread_bandwidth at most
  BytesPerSecond copy_thread_bandwidth = 22e9;  // one thread, streaming stores (measured here: 22 to 25 GB/s)
  int concurrent_migrations = 1;                // pages unmapped, copied and mapped together
  Seconds migration_seconds = 1e-6;             // to unmap and map again, once for each such batch
  Seconds fault_seconds = 0;                    // to handle a fault
  Bytes fault_bytes = 0;                        // adjacent missing bytes that one fault brings, at most
};

// What sees pages.
struct PagePolicy {
  bool addressable = true;  // ops use the slow tier in place; else everything is brought to them
  PolicyTuning defaults;
  std::function<std::unique_ptr<Policy>(const PolicyMemory&, const PolicyTuning&)> make;
};

struct PolicyEntry {
  std::string_view name;
  std::string_view summary;         // one line for --help and docs
  std::optional<PagePolicy> pages;  // none: dtr, which decides over whole values of a step (dtr/dtr.hpp)
};

const std::vector<PolicyEntry>& policies();

// nullptr: there is none of that name.
const PolicyEntry* find_policy(std::string_view name);
Error unknown_policy(std::string_view name);  // kBadInput naming the known ones

// The slow tier a policy uses, and its links.
struct PolicyTiers {
  memory::TierId slow = 1;
  memory::LinkId inward = 0;
  memory::LinkId outward = 0;
};

// Of a policy over pages, as make_policy(). kBadInput without a slow tier or links; kUnsupported where ops would have to
// address a tier that they cannot.
Result<PolicyTiers> find_policy_tiers(const PolicyEntry& entry, const memory::Machine& machine);

// `bytes`: of the address space.
PolicyMemory policy_memory(const memory::Machine& machine, const PolicyTiers& tiers, Bytes fast_bytes, Bytes bytes);

// kInfeasible when fast memory has no room for one page, kBadInput for tuning that makes no sense.
Result<std::unique_ptr<Policy>> make_policy(const PolicyEntry& entry, const PolicyMemory& memory,
                                            const PolicyTuning& tuning);

}  // namespace sluice::policies
