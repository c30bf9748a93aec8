// Classes beside neighbourhoods that are found by following every edge.
#include "sluice/policies/dtr/evicted_classes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::policies {
namespace {

// Values and who is made of whom; which are evicted, and what each costs.
class Neighbourhoods {
 public:
  explicit Neighbourhoods(std::size_t values) : made_of_(values), makes_(values), costs_(values, 0), classes_(values) {}

  void connect(ValueId from, ValueId to) {
    made_of_[as_index(to)].push_back(from);
    makes_[as_index(from)].push_back(to);
  }
  void evict(ValueId id, Seconds cost) {
    costs_[as_index(id)] = cost;
    evicted_.insert(id);
    classes_.add(id, cost, touching(id));
  }
  void rematerialize(ValueId id) {
    evicted_.erase(id);
    classes_.remove(id);
  }
  bool evicted(ValueId id) const { return evicted_.contains(id); }

  Seconds by_classes(ValueId id) { return classes_.cost_around(touching(id)); }

  // The paper's e*: evicted values that must be made before this one, and those for which it must be made, through
  // evicted ones alone.
  Seconds by_paths(ValueId id) const {
    std::set<ValueId> found;
    follow(id, made_of_, found);
    follow(id, makes_, found);
    Seconds sum = 0;
    for (const ValueId each : found) sum += costs_[as_index(each)];
    return sum;
  }

 private:
  std::array<std::span<const ValueId>, 2> touching(ValueId id) const {
    return {made_of_[as_index(id)], makes_[as_index(id)]};
  }
  void follow(ValueId id, const std::vector<std::vector<ValueId>>& edges, std::set<ValueId>& found) const {
    for (const ValueId next : edges[as_index(id)]) {
      if (evicted(next) && found.insert(next).second) follow(next, edges, found);
    }
  }

  std::vector<std::vector<ValueId>> made_of_, makes_;
  std::vector<Seconds> costs_;
  std::set<ValueId> evicted_;
  EvictedClasses classes_;
};

TEST(EvictedClasses, OnAChainOfEvictionsTheSumsAreExact) {
  constexpr ValueId kLength = 30;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    testing::SeededRandom random(seed);
    Neighbourhoods chain(kLength);
    for (ValueId id = 1; id < kLength; ++id) chain.connect(id - 1, id);
    for (int i = 0; i < 20; ++i) {
      const auto id = random.between<ValueId>(0, kLength - 1);
      if (!chain.evicted(id)) chain.evict(id, random.between(1, 100));
      for (ValueId each = 0; each < kLength; ++each) {
        if (!chain.evicted(each)) {
          EXPECT_EQ(chain.by_classes(each), chain.by_paths(each)) << each;
        }
      }
    }
  }
}

TEST(EvictedClasses, NeverLessThanTheNeighbourhood) {
  constexpr ValueId kValues = 40;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    testing::SeededRandom random(seed);
    Neighbourhoods graph(kValues);
    for (ValueId to = 1; to < kValues; ++to) {
      for (int i = 0; i < 2; ++i) graph.connect(random.between<ValueId>(std::max(0, to - 6), to - 1), to);
    }
    for (int i = 0; i < 200; ++i) {
      const auto id = random.between<ValueId>(0, kValues - 1);
      graph.evicted(id) ? graph.rematerialize(id) : graph.evict(id, random.between(1, 100));
      for (ValueId each = 0; each < kValues; ++each) {
        if (!graph.evicted(each)) {
          EXPECT_GE(graph.by_classes(each), graph.by_paths(each)) << each;
        }
      }
    }
  }
}

// b joins a and c. When it is made again, its cost is taken out and the other two stay together.
TEST(EvictedClasses, WhatIsMadeAgainLeavesItsClassWhole) {
  Neighbourhoods chain(5);
  for (ValueId id = 1; id < 5; ++id) chain.connect(id - 1, id);
  chain.evict(1, 10);
  chain.evict(3, 30);
  EXPECT_EQ(chain.by_classes(0), 10);
  chain.evict(2, 20);
  EXPECT_EQ(chain.by_classes(0), 60);
  chain.rematerialize(2);
  EXPECT_EQ(chain.by_classes(0), 40) << "10 is what the neighbourhood costs";
  EXPECT_EQ(chain.by_paths(0), 10);
  EXPECT_EQ(chain.by_classes(2), 40) << "the class on both sides counts once";
}

}  // namespace
}  // namespace sluice::policies
