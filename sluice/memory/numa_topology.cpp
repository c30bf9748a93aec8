#include "sluice/memory/numa_topology.hpp"

#include <numa.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "sluice/memory/machine.hpp"

namespace sluice::memory {
namespace {

struct FreeMask {
  void operator()(bitmask* mask) const { ::numa_bitmask_free(mask); }
};
using Mask = std::unique_ptr<bitmask, FreeMask>;

bool has(const Mask& mask, int bit) { return ::numa_bitmask_isbitset(mask.get(), static_cast<unsigned>(bit)) != 0; }

std::vector<int> nodes_of_our_processors() {
  const Mask processors(::numa_allocate_cpumask());
  ::numa_sched_getaffinity(0, processors.get());
  std::vector<int> nodes;
  for (int processor = 0; processor < static_cast<int>(processors->size); ++processor) {
    if (!has(processors, processor)) continue;
    const int node = ::numa_node_of_cpu(processor);
    if (node >= 0 && std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  }
  return nodes;
}

// The kernel's figure where it has one (0 otherwise); from the nearest.
int distance_from(const std::vector<int>& computing, int node) {
  int nearest = std::numeric_limits<int>::max();
  for (const int from : computing) nearest = std::min(nearest, std::max(kLocalDistance, ::numa_distance(from, node)));
  return computing.empty() ? kLocalDistance : nearest;
}

// What the kernel keeps free of each node for itself: below its zones' low watermarks it gives out nothing. By node id.
std::map<int, Bytes> kernel_reserves() {
  std::map<int, Bytes> reserves;
  std::ifstream file("/proc/zoneinfo");
  int node = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    Bytes pages = 0;
    if (first == "Node") {
      words >> node;
    } else if (first == "low" && words >> pages) {
      reserves[node] += pages * kBlockAlignment;
    }
  }
  return reserves;
}

template <typename Predicate>
std::vector<int> ids(const std::vector<NumaNode>& nodes, Predicate wanted) {
  std::vector<int> found;
  for (const NumaNode& node : nodes) {
    if (wanted(node)) found.push_back(node.id);
  }
  return found;
}

}  // namespace

const NumaNode* NumaTopology::find(int id) const {
  const auto found = std::ranges::find(nodes, id, &NumaNode::id);
  return found == nodes.end() ? nullptr : &*found;
}

std::vector<int> NumaTopology::computing() const {
  return ids(nodes, [](const NumaNode& node) { return node.computes; });
}

std::vector<int> NumaTopology::with_memory() const {
  return ids(nodes, [](const NumaNode& node) { return node.memory > 0 && node.allowed; });
}

Result<NumaTopology> read_numa_topology() {
  if (::numa_available() < 0) {
    return Error{ErrorCode::kUnsupported,
                 "this system shows no memory nodes: its kernel has no NUMA support, or a container's filter of system "
                 "calls hides it (docker: --cap-add SYS_NICE); choose another slow tier, such as file"};
  }
  const Mask allowed(::numa_get_mems_allowed());
  const std::vector<int> computing = nodes_of_our_processors();
  std::map<int, Bytes> reserves = kernel_reserves();
  NumaTopology topology;
  for (int id = 0; id <= ::numa_max_node(); ++id) {
    NumaNode node{.id = id};
    long long free = 0;
    node.memory = ::numa_node_size64(id, &free);
    if (node.memory < 0) continue;  // numbers may have gaps
    node.free = std::max<Bytes>(0, static_cast<Bytes>(free) - reserves[id]);
    node.allowed = has(allowed, id);
    node.computes = std::ranges::find(computing, id) != computing.end();
    node.distance = distance_from(computing, id);
    topology.nodes.push_back(node);
  }
  return topology;
}

}  // namespace sluice::memory
