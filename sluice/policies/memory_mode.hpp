// Fast memory as a direct-mapped hardware cache of the slow tier: Optane's Memory Mode, "2LM" in AutoTM §2.2 ("PMM act
// as system memory with DRAM as a direct mapped cache", moved in 64-byte blocks, §6.2).
//
// Line l of the address space can be cached in set l mod sets only, with sets = fast bytes / line. Every access goes
// through the cache and allocates:
//   - a line that is there is found fast;
//   - one that is not is fetched from slow memory and filled in, also when it is about to be overwritten (the hardware
//     sees 64-byte stores one by one), and a dirty line that was in its set is written back first.
// Two ranges a multiple of the cache apart evict each other however much room there is elsewhere. Freed data that are
// dirty are written back like any other: write amplification, which figures() shows as bytes written to both memories
// over bytes that ops wrote (AutoTM §6.2, HM-Keeper §8.2.2). Capacity is counted once: the slow tier holds everything.
//
// Simplified: what the cache's tags cost is left out; lines are filled at the tiers' sequential bandwidths.
//
// A set's state is kept by runs of equal neighbours, as ops access ranges: exact, and O(log runs) for a range, not
// O(lines). Runs are about as many as tensors.
#pragma once

#include <map>

#include "sluice/policies/policy.hpp"

namespace sluice::policies {

class MemoryMode final : public Policy {
 public:
  MemoryMode(const PolicyMemory& memory, const PolicyTuning& tuning);

  AccessCharge access(std::span<const Access> accesses, Seconds now, memory::MoveList& moves) override;
  std::vector<std::pair<std::string, double>> figures() const override;

 private:
  // What a run of sets holds: line = tag x sets + set.
  struct Content {
    std::int64_t tag = kEmpty;
    bool dirty = false;
    bool operator==(const Content&) const = default;
  };
  using Runs = std::map<std::int64_t, Content>;  // by first set; a run ends where the next begins
  static constexpr std::int64_t kEmpty = -1;

  struct Lines {
    std::int64_t missed = 0;
    std::int64_t dirty_victims = 0;
  };

  Lines access_lines(Interval<std::int64_t> lines, bool writes);
  void access_sets(Interval<std::int64_t> sets, std::int64_t tag, bool writes, Lines& counted);
  Runs::iterator split_at(std::int64_t set);
  void join_at(std::int64_t set);

  Bytes line_bytes_;
  std::int64_t sets_;
  Runs runs_;
  Bytes ops_wrote_ = 0;
  Bytes memories_wrote_ = 0;
};

}  // namespace sluice::policies
