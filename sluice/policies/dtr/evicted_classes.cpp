#include "sluice/policies/dtr/evicted_classes.hpp"

#include <algorithm>

#include "sluice/base/check.hpp"

namespace sluice::policies {

void EvictedClasses::add(ValueId value, Seconds cost, std::span<const std::span<const ValueId>> touching) {
  SLUICE_CHECK(!holds(value), "a value is evicted once before it is made again");
  const auto node = static_cast<Node>(parents_.size());
  parents_.push_back(node);
  sums_.push_back(cost);
  members_.push_back(1);
  node_of_[position(value)] = node;
  cost_of_[position(value)] = cost;
  for (const std::span<const ValueId> neighbours : touching) {
    for (const ValueId neighbour : neighbours) {
      if (holds(neighbour)) join(node, node_of_[position(neighbour)]);
    }
  }
}

// Rounding must not leave a class below nothing.
void EvictedClasses::remove(ValueId value) {
  SLUICE_CHECK(holds(value), "what is made again was evicted");
  Seconds& sum = sums_[position(root(node_of_[position(value)]))];
  sum = std::max(0.0, sum - cost_of_[position(value)]);
  node_of_[position(value)] = kNone;
}

Seconds EvictedClasses::cost_around(std::span<const std::span<const ValueId>> touching) {
  roots_.clear();
  Seconds cost = 0;
  for (const std::span<const ValueId> neighbours : touching) {
    for (const ValueId neighbour : neighbours) {
      if (!holds(neighbour)) continue;
      const Node of = root(node_of_[position(neighbour)]);
      if (std::ranges::find(roots_, of) != roots_.end()) continue;
      roots_.push_back(of);
      cost += sums_[position(of)];
    }
  }
  return cost;
}

EvictedClasses::Node EvictedClasses::root(Node node) {
  while (parents_[position(node)] != node) {
    Node& parent = parents_[position(node)];
    parent = parents_[position(parent)];
    node = parent;
  }
  return node;
}

void EvictedClasses::join(Node a, Node b) {
  a = root(a);
  b = root(b);
  if (a == b) return;
  if (members_[position(a)] < members_[position(b)]) std::swap(a, b);
  parents_[position(b)] = a;
  sums_[position(a)] += sums_[position(b)];
  members_[position(a)] += members_[position(b)];
}

}  // namespace sluice::policies
