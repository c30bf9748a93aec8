// What it would cost to make an evicted neighbourhood again, approximately and in almost constant time: the equivalence
// classes of h_DTR^eq (Kirisame et al., ICLR 2021, section 4.1).
//
// The neighbourhood of a value are the evicted values that must be made before it, and those for which it must be made
// itself. Following these edges each time is too slow, so evicted values that touch form a class with one sum of costs: a
// union-find structure. It has no parting, so when a value is made again only its cost is taken out, and those that it
// joined stay together. On a chain of evictions without returns the sums are exact; else they may be too large.
//
// Not thread-safe.
#pragma once

#include <span>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/policies/dtr/step_values.hpp"

namespace sluice::policies {

class EvictedClasses {
 public:
  explicit EvictedClasses(std::size_t values) : node_of_(values, kNone), cost_of_(values, 0) {}

  bool holds(ValueId value) const { return node_of_[position(value)] != kNone; }

  // `touching`: its neighbours, of which those that are held count. It must not be held.
  void add(ValueId value, Seconds cost, std::span<const std::span<const ValueId>> touching);

  // It must be held.
  void remove(ValueId value);

  // The costs of all classes that touch the value, each once.
  Seconds cost_around(std::span<const std::span<const ValueId>> touching);

 private:
  using Node = std::int32_t;
  static constexpr Node kNone = -1;
  static std::size_t position(std::int32_t id) { return as_index(id); }

  Node root(Node node);
  void join(Node a, Node b);

  std::vector<Node> node_of_;          // by value; an eviction makes a new one
  std::vector<Seconds> cost_of_;       // by value: its share of its class
  std::vector<Node> parents_;          // by node; a root is its own
  std::vector<Seconds> sums_;          // by root
  std::vector<std::int32_t> members_;  // by root: nodes below it
  std::vector<Node> roots_;            // of the running cost_around()
};

}  // namespace sluice::policies
