// A step's profile from AutoTM's kernels instead of measurements: each op's time with everything in DRAM, and its times
// by where its operands lie (profile/placement.hpp), on real Optane.
//
// An op takes the sum of its parts' times (kernel_parts.hpp). Operands that no part uses cost what the emulation's rule
// says of memory traffic alone. Ops of at most six operands get a time for every placement, which is what AutoTM's
// program looks at; ops of more those that are measured here, too. Times are of cold caches (AutoTM section 6.5).
#pragma once

#include <map>

#include "benchmarks/papers/kernel_table.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice::benchmarks::autotm {

// How much of it was published.
struct Coverage {
  int ops = 0;
  int unmatched_ops = 0;  // at least one part has no kernel of its shapes
  Seconds seconds = 0;    // with everything in DRAM
  Seconds scaled_seconds = 0;
  Seconds guessed_seconds = 0;
  int placements = 0;
  int published_placements = 0;  // by all parts

  Coverage& operator+=(const Coverage& other);
};

struct PublishedProfile {
  profile::Profile profile;
  std::map<graph::OpKind, Coverage> coverage;
};

// AutoTM's machine (autotm_model.hpp) with its Optane as memory that times were measured in, not an emulation of it;
// copies at 29 GB/s to DRAM and 12 GB/s from it, which take all compute threads: AutoTM's synchronous moves.
memory::Machine published_machine();

// `graph`: executable. `machine`: published_machine().
PublishedProfile published_profile(const graph::Graph& graph, const memory::Machine& machine, const KernelTable& table);

}  // namespace sluice::benchmarks::autotm
