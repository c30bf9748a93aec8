#include "sluice/memory/offsets/offset_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/memory/offsets/offset_tree.hpp"

namespace sluice::memory {
namespace {

constexpr std::int64_t kFirstNodes = 1000;
constexpr std::int64_t kNodesPerBlock = 2;  // a walk that never turns back needs one for each
constexpr double kMoreNodes = 1.02;         // a round
constexpr double kNoise = 0.3;              // keys are multiplied by e^-0.3 to e^0.3
constexpr std::uint64_t kSeed = 1;

// Sorting keys of the three orders: what comes first is tried first.
using TrialKey = std::tuple<double, double, double>;
using TrialKeyOf = TrialKey (*)(const OffsetBlock&);

double area_of(const OffsetBlock& block) { return static_cast<double>(block.bytes) * block.length; }
TrialKey by_length(const OffsetBlock& block) {
  return {-block.length, -area_of(block), -static_cast<double>(block.busiest)};
}
TrialKey by_traffic_then_area(const OffsetBlock& block) {
  return {-static_cast<double>(block.busiest), -area_of(block), -block.length};
}
TrialKey by_traffic_then_length(const OffsetBlock& block) {
  return {-static_cast<double>(block.busiest), -block.length, -area_of(block)};
}

constexpr std::array<TrialKeyOf, 3> kTrialOrders{by_length, by_traffic_then_area, by_traffic_then_length};

// Walk by walk: other ranks, and how many nodes they get.
class Restarts {
 public:
  Restarts(const std::vector<OffsetBlock>& blocks, Bytes capacity, const SearchLimit& limit)
      : blocks_(blocks),
        tree_(blocks, capacity),
        limit_(limit),
        looks_(limit.effort > 0 ? limit.effort : std::numeric_limits<std::int64_t>::max()),
        short_nodes_(static_cast<double>(std::max(kFirstNodes, kNodesPerBlock * std::ssize(blocks)))) {}

  SearchVerdict run() {
    std::int64_t spent_short = 0;
    auto long_nodes = static_cast<std::int64_t>(short_nodes_);
    for (std::uint64_t walk = 0;; ++walk) {
      const bool is_long = spent_short > 3 * long_nodes;
      const std::int64_t nodes = is_long ? long_nodes : static_cast<std::int64_t>(short_nodes_);
      const OffsetTree::Outcome outcome = tree_.walk(ranks(walk), {nodes, looks_, limit_.stop});
      if (outcome == OffsetTree::Outcome::kFound) return SearchVerdict::kFound;
      if (outcome == OffsetTree::Outcome::kExhausted) return SearchVerdict::kImpossible;
      if (outcome != OffsetTree::Outcome::kOutOfNodes) return SearchVerdict::kGaveUp;
      if (is_long) {
        long_nodes *= 2;
        spent_short = 0;
      } else {
        spent_short += nodes;
        if (walk % kTrialOrders.size() == 0) short_nodes_ *= kMoreNodes;
      }
    }
  }

  const OffsetTree& tree() const { return tree_; }

 private:
  // Blocks whose branches failed most often come first, then the order's own keys with noise.
  std::vector<std::int32_t> ranks(std::uint64_t walk) const {
    const bool noisy = walk / kTrialOrders.size() % 2 == 1;
    std::vector<std::pair<double, TrialKey>> keys;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const double noise = std::exp(kNoise * (2 * static_cast<double>(random_uniform(kSeed, walk, i)) - 1));
      const auto [first, second, third] = kTrialOrders[walk % kTrialOrders.size()](blocks_[i]);
      keys.emplace_back(-(noisy ? noise : 1) * static_cast<double>(tree_.failures()[i]),
                        TrialKey{first * noise, second * noise, third * noise});
    }
    std::vector<std::int32_t> order(blocks_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::int32_t name) { return keys[as_index(name)]; });
    std::vector<std::int32_t> ranks(blocks_.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      ranks[as_index(order[rank])] = as_id<std::int32_t>(rank);
    }
    return ranks;
  }

  const std::vector<OffsetBlock>& blocks_;
  OffsetTree tree_;
  const SearchLimit& limit_;
  std::int64_t looks_;
  double short_nodes_;
};

}  // namespace

SearchResult search_offsets(std::span<const OffsetItem> items, Bytes capacity, const SearchLimit& limit) {
  const std::vector<OffsetBlock> blocks = blocks_of(items);
  Restarts restarts(blocks, capacity, limit);
  SearchResult result;
  result.verdict = restarts.run();
  result.placed = restarts.tree().placed();
  result.looks = restarts.tree().looks();
  if (result.verdict != SearchVerdict::kFound) return result;
  result.offsets.assign(items.size(), 0);
  for (std::size_t i = 0; i < blocks.size(); ++i) result.offsets[blocks[i].item] = restarts.tree().offsets()[i];
  return result;
}

}  // namespace sluice::memory
