// Which bytes of an op's operands reach main memory: those that the caches do not hold.
//
// The model is one cache with the capacity of the compute threads' caches. It keeps what was used last, and counts
// bytes of tensors, not lines:
//   - an op finds there what an earlier op left of an operand. It fetches the rest of the first sweep, of written
//     operands too (write-allocate). Of every further sweep it fetches what it has itself pushed out meanwhile;
//   - an op leaves all that it used; if that is more than the cache holds, it leaves of each operand its share of the
//     capacity;
//   - what was written goes to memory when it is pushed out, and counts as traffic of the op that wrote it; if it is
//     written again before that, it has cost nothing;
//   - a new tensor gets the addresses of a dead one next, as in an arena, with those of its lines that are still in the
//     cache.
// Hardware counters would say the same, but guests of a hypervisor mostly have none.
//
// Cost: O(uses) each time. Pure; one thread at a time.
#pragma once

#include <list>
#include <span>
#include <vector>

#include "sluice/graph/graph.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::profile {

// Between the caches and main memory, for one op's use of one or several operands.
struct MemoryTraffic {
  double read = 0;       // bytes
  double written = 0;    // bytes
  double scattered = 0;  // reads that wait for memory one by one
  MemoryTraffic& operator+=(const MemoryTraffic& other);
  bool operator==(const MemoryTraffic&) const = default;
};

// One op's use of one distinct operand.
struct CacheUse {
  graph::TensorId tensor = 0;
  Bytes bytes = 0;  // that the op touches
  bool reads = false;
  bool writes = false;
  int sweeps = 1;
  std::int64_t scattered = 0;
  bool first = false;  // of a tensor that begins here
  bool last = false;   // of a tensor that is dead after this op
};

class CacheModel {
 public:
  explicit CacheModel(Bytes capacity, graph::TensorId tensors = 0);

  // Runs the uses of one op. Their traffic is in one record each, from the returned record on; what they wrote is added
  // when it leaves the cache.
  std::size_t run(std::span<const CacheUse> uses);
  const MemoryTraffic& traffic(std::size_t record) const { return records_.at(record); }

 private:
  struct Entry {
    graph::TensorId tensor = 0;
    double held = 0;   // bytes
    double dirty = 0;  // of these: newer than memory
    std::size_t writer = 0;
    bool dead = false;
  };
  using Entries = std::list<Entry>;  // last used first

  Entry& entry_of(graph::TensorId tensor);
  void take_dead_lines(Entry& entry, double bytes);
  void keep(Entry& entry, double bytes);
  void use(const CacheUse& use, double stays);
  void push_out();

  double capacity_;
  Entries entries_;
  std::vector<Entries::iterator> by_tensor_;  // entries_.end(): the cache holds nothing of it
  std::vector<MemoryTraffic> records_;
};

// The traffic of every op of a step in the middle of training, for the machine's cache_bytes. O(operands).
class OpTraffic {
 public:
  OpTraffic(const graph::Graph& graph, Bytes cache_bytes);

  // By distinct operand (liveness.hpp).
  std::span<const MemoryTraffic> of(graph::OpIndex op) const;
  // Of the operands that `operand_tiers` (inputs, then outputs) puts in `tier`.
  MemoryTraffic in_tier(const graph::Graph& graph, graph::OpIndex op, std::span<const memory::TierId> operand_tiers,
                        memory::TierId tier) const;

 private:
  std::vector<std::size_t> first_;  // by OpIndex, and one more: into traffic_
  std::vector<MemoryTraffic> traffic_;
};

}  // namespace sluice::profile
