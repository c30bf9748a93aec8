#include "sluice/planners/bound/in_place_costs.hpp"

#include <algorithm>
#include <limits>

#include "sluice/base/as_index.hpp"
#include "sluice/profile/placement.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMostInSets = 6;  // operands, of which every set is looked at

std::vector<TierId> usable_tiers(const Machine& machine) {
  std::vector<TierId> tiers;
  for (TierId tier = kFastTier + 1; tier < static_cast<TierId>(machine.tiers.size()); ++tier) {
    if (machine.addresses(kMainProcessor, tier)) tiers.push_back(tier);
  }
  return tiers;
}

class OperandCosts {
 public:
  OperandCosts(const Graph& graph, const CostModel& costs, const Machine& machine)
      : graph_(graph), costs_(costs), machine_(machine), tiers_(usable_tiers(machine)) {}

  bool any() const { return !tiers_.empty(); }

  // By distinct operand.
  std::vector<UseInPlace> of(OpIndex op) const {
    std::vector<UseInPlace> least = in_tier(op, tiers_.front());
    for (std::size_t i = 1; i < tiers_.size(); ++i) {
      const std::vector<UseInPlace> other = in_tier(op, tiers_[i]);
      for (std::size_t k = 0; k < least.size(); ++k) {
        least[k] = {std::min(least[k].reading, other[k].reading), std::min(least[k].added, other[k].added)};
      }
    }
    return least;
  }

 private:
  std::vector<UseInPlace> in_tier(OpIndex op, TierId tier) const {
    return costs_.is_measured(op, tier) ? measured(op, tier) : by_rule(op, tier);
  }

  std::vector<UseInPlace> by_rule(OpIndex op, TierId tier) const {
    std::vector<UseInPlace> uses;
    for (const MemoryTraffic& traffic : costs_.traffic().of(op)) {
      const MemorySeconds seconds =
          memory_seconds(machine_.tier(tier), machine_.tier(kFastTier), machine_.threads_of(kMainProcessor), traffic);
      uses.push_back({seconds.reading, seconds.writing});
    }
    return uses;
  }

  std::vector<UseInPlace> measured(OpIndex op, TierId tier) const {
    const std::size_t count = distinct_operands(graph_.op(op)).size();
    std::vector<UseInPlace> uses(count);
    if (count > kMostInSets || tiers_.size() > 1) return uses;
    const auto has = [](OperandSet set, std::size_t operand) { return (set >> operand & 1) != 0; };
    std::vector<Seconds> alone;
    for (std::size_t i = 0; i < count; ++i) alone.push_back(extra(op, tier, OperandSet{1} << i));
    std::vector<double> share(count, 1);
    for (OperandSet set = 1; set < OperandSet{1} << count; ++set) {
      Seconds sum = 0;
      for (std::size_t i = 0; i < count; ++i) sum += has(set, i) ? alone[i] : 0;
      if (sum <= 0) continue;
      const double part = extra(op, tier, set) / sum;
      for (std::size_t i = 0; i < count; ++i) share[i] = has(set, i) ? std::min(share[i], part) : share[i];
    }
    for (std::size_t i = 0; i < count; ++i) uses[i].added = alone[i] * share[i];
    return uses;
  }

  Seconds extra(OpIndex op, TierId tier, OperandSet slow) const {
    return costs_.op_seconds(op, operand_tiers(graph_.op(op), slow, tier)) - costs_.op_seconds(op);
  }

  const Graph& graph_;
  const CostModel& costs_;
  const Machine& machine_;
  std::vector<TierId> tiers_;
};

}  // namespace

std::vector<std::vector<UseInPlace>> in_place_costs(const Graph& graph, const CostModel& costs,
                                                    const Machine& machine) {
  const OperandCosts operands(graph, costs, machine);
  if (!operands.any()) return {};
  std::vector<std::vector<UseInPlace>> by_use(graph.tensors().size());
  for (OpIndex op = 0; op < graph.op_count(); ++op) {
    const std::vector<TensorId> distinct = distinct_operands(graph.op(op));
    const std::vector<UseInPlace> uses = operands.of(op);
    for (std::size_t i = 0; i < distinct.size(); ++i) by_use[as_index(distinct[i])].push_back(uses[i]);
  }
  return by_use;
}

}  // namespace sluice
