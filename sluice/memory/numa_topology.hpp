// The machine's memory nodes as this process may use them.
//
// The description comes from libnuma, which also knows cpusets and containers. It is plain data, so that decisions
// based on it can be tested for machines that do not exist. Sizes are those of the moment: free memory changes.
#pragma once

#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice::memory {

inline constexpr int kLocalDistance = 10;

struct NumaNode {
  int id = 0;
  Bytes memory = 0;               // 0: a node of processors only
  Bytes free = 0;                 // less what the kernel keeps for itself
  bool allowed = true;            // may this process have memory there?
  bool computes = false;          // may its threads run on processors of the node?
  int distance = kLocalDistance;  // of its memory from the nearest node that computes, in the firmware's units
};

struct NumaTopology {
  std::vector<NumaNode> nodes;

  const NumaNode* find(int id) const;
  std::vector<int> computing() const;    // nodes on whose processors threads may run
  std::vector<int> with_memory() const;  // that this process may use
};

// kUnsupported where the kernel has no NUMA, or a container hides it.
Result<NumaTopology> read_numa_topology();

}  // namespace sluice::memory
