// Policies (online): they react to accesses as they happen, where a planner decides ahead.
//
// A policy stands for what moves memory underneath a framework: the kernel, the hardware, a GPU's driver. It sees pages
// (or cache lines) of a virtual address space, never tensors. It does not know which of them share a page, nor what was
// freed. Simulator and executor drive the same object and hand it the time, simulated or by the wall clock; a policy
// has no clock, no thread and no randomness of its own, so equal calls give equal answers.
//
// Nothing here moves a byte. A policy says what an access finds, and which ranges of addresses are to lie in which other
// tier (memory/move.hpp); its caller charges the time of such moves (charge.hpp) or performs them
// (exec/policy/policy_executor.hpp).
//
// Addresses: bytes from 0 to PolicyMemory::address_bytes, as layout/page_layout.hpp places tensors. Frames of a tier are
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
#include "sluice/memory/move.hpp"
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

// What an op's accesses find in one slow tier, to be used there while the op runs.
struct SlowTraffic {
  // What passes between the tier and the processor's caches.
  Bytes read = 0;
  Bytes written = 0;
  double scattered = 0;  // reads that wait one by one

  // Beside the op's own accesses; the op waits for it line by line: what a hardware cache does.
  Bytes extra_read = 0;     // lines fetched to be overwritten
  Bytes extra_written = 0;  // dirty lines that had to go

  SlowTraffic& operator+=(const SlowTraffic& other);
};

// What an op's accesses find.
struct AccessCharge {
  Bytes requested = 0;   // bytes of the operands, each once
  Bytes found_fast = 0;  // of these, those in fast memory when they were asked for
  std::int64_t operands = 0;
  std::int64_t operands_found = 0;  // of which every byte was found there

  std::vector<SlowTraffic> slow;  // by TierId; what is missing is nothing
  Bytes filled = 0;               // into a hardware cache in fast memory, while the op runs
  Seconds fault_seconds = 0;      // handling of faults, before the op runs

  AccessCharge& operator+=(const AccessCharge& other);
  void add_operand(Bytes bytes, Bytes found);
  void add_slow(memory::TierId tier, const profile::MemoryTraffic& traffic);
  SlowTraffic& slow_in(memory::TierId tier);
  SlowTraffic slow_in_all() const;  // their sum
};

class Policy {
 public:
  virtual ~Policy() = default;

  // An op that accesses these is about to run. Adds what has to be moved before it may, in order.
  virtual AccessCharge access(std::span<const Access> accesses, Seconds now, memory::MoveList& moves) = 0;

  // A hint: these will be accessed soon (`upcoming`: of the next layer). Most policies ignore hints.
  virtual void expect(std::span<const Access> upcoming, Seconds now);

  // Time in which its own threads may work; adds what they have moved. Calls follow one another without overlap; a gap
  // between them is time in which they are held up.
  virtual void advance(Seconds from, Seconds to, memory::MoveList& moves);

  // Figures of this kind of policy alone, counted since it was made: "faults", 12.
  virtual std::vector<std::pair<std::string, double>> figures() const;
};

// Where a policy works: tiers of a machine, the fast one first.
struct PolicyMemory {
  std::vector<Bytes> rooms;  // by TierId; the last tier has room for everything
  Bytes address_bytes = 0;
  std::vector<memory::Link> links;

  Bytes fast_bytes() const { return rooms.front(); }
  BytesPerSecond bandwidth(memory::TierId from, memory::TierId to) const;  // 0: copies take no time
};

// Fast memory and one slow tier. Bandwidths: slow to fast, fast to slow.
PolicyMemory two_tiers(Bytes fast_bytes, Bytes address_bytes, BytesPerSecond in = 0, BytesPerSecond out = 0);

inline constexpr memory::TierId kSlowTier = 1;  // of a policy that knows two tiers

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
  bool addressable = true;          // ops use slow tiers in place; else everything is brought to them
  bool in_hardware = false;         // stands for a cache that no program can be, on memory that is really slow
  bool several_slow_tiers = false;  // uses all that there are; else there is one
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

// Whether a policy over pages can work on this machine's tiers. kBadInput without a slow tier, with too many of them, or
// without links; kUnsupported where ops would have to address a tier that they cannot.
Status check_policy_tiers(const PolicyEntry& entry, const memory::Machine& machine);

// Of a machine that passes. `bytes`: of the address space.
PolicyMemory policy_memory(const memory::Machine& machine, Bytes fast_bytes, Bytes bytes);

// kInfeasible when fast memory has no room for one page, kBadInput for tuning that makes no sense.
Result<std::unique_ptr<Policy>> make_policy(const PolicyEntry& entry, const PolicyMemory& memory,
                                            const PolicyTuning& tuning);

}  // namespace sluice::policies
