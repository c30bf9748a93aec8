#include "sluice/graph/rewrite/minimum_cut.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sluice/base/as_index.hpp"

namespace sluice::graph {
namespace {

struct Arc {
  int from, to;
  std::int64_t capacity;
};

struct Network {
  int nodes = 0;
  std::vector<Arc> arcs;
};

std::vector<bool> cut(const Network& network) {
  MinimumCut cut(network.nodes);
  for (const Arc& arc : network.arcs) cut.add_arc(arc.from, arc.to, arc.capacity);
  return std::move(cut).source_side(0, network.nodes - 1);
}

std::int64_t cost(const Network& network, const std::vector<bool>& source_side) {
  std::int64_t sum = 0;
  for (const Arc& arc : network.arcs) {
    const bool cut = source_side[as_index(arc.from)] && !source_side[as_index(arc.to)];
    sum += cut ? arc.capacity : 0;
  }
  return sum;
}

// Over all sides that the nodes between source and sink can take.
std::int64_t cheapest(const Network& network) {
  std::int64_t best = MinimumCut::kNever;
  for (unsigned sides = 0; sides < 1U << (network.nodes - 2); ++sides) {
    std::vector<bool> source_side{true};
    for (int node = 1; node < network.nodes - 1; ++node) source_side.push_back((sides >> (node - 1) & 1U) != 0);
    source_side.push_back(false);
    best = std::min(best, cost(network, source_side));
  }
  return best;
}

TEST(MinimumCut, CutsAChainAtItsThinnestArc) {
  EXPECT_THAT(cut({4, {{0, 1, 5}, {1, 2, 2}, {2, 3, 7}}}), ::testing::ElementsAre(true, true, false, false));
}

TEST(MinimumCut, KeepsNodesAtTheSinkWhenCutsCostTheSame) {
  EXPECT_THAT(cut({4, {{0, 1, 3}, {1, 2, 3}, {2, 3, 3}}}), ::testing::ElementsAre(true, false, false, false));
}

TEST(MinimumCut, UndoesAWayThatBlocksTwoOthers) {
  const Network network{4, {{0, 1, 1}, {0, 2, 1}, {1, 2, 1}, {1, 3, 1}, {2, 3, 1}}};
  EXPECT_EQ(cost(network, cut(network)), 2);
}

TEST(MinimumCut, LeavesWhatIsNotConnectedAtTheSink) {
  EXPECT_THAT(cut({4, {{0, 1, 4}, {2, 3, 4}}}), ::testing::ElementsAre(true, true, false, false));
}

TEST(MinimumCut, IsTheCheapestOfAllInRandomNetworks) {
  constexpr unsigned kSeed = 20;
  std::mt19937 random(kSeed);
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  for (int round = 0; round < 300; ++round) {
    Network network{.nodes = 3 + below(8), .arcs = {}};
    for (int i = 4 * network.nodes; i > 0; --i) {
      network.arcs.push_back({below(network.nodes), below(network.nodes), below(12)});
    }
    EXPECT_EQ(cost(network, cut(network)), cheapest(network)) << "seed " << kSeed << ", round " << round;
  }
}

}  // namespace
}  // namespace sluice::graph
