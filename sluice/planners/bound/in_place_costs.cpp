#include "sluice/planners/bound/in_place_costs.hpp"

#include <algorithm>
#include <limits>

#include "sluice/base/as_index.hpp"
#include "sluice/profile/placement.hpp"

namespace sluice::planners {
namespace {

constexpr std::size_t kMostInSets = 6;  // operands, of which every set is looked at

std::vector<memory::TierId> usable_tiers(const memory::Machine& machine) {
  std::vector<memory::TierId> tiers;
  for (memory::TierId tier = memory::kFastTier + 1; tier < as_id<memory::TierId>(machine.tiers.size()); ++tier) {
    if (machine.addresses(kMainProcessor, tier)) tiers.push_back(tier);
  }
  return tiers;
}

class OperandCosts {
 public:
  OperandCosts(const graph::Graph& graph, const profile::CostModel& costs, const memory::Machine& machine)
      : graph_(graph), costs_(costs), machine_(machine), tiers_(usable_tiers(machine)) {}

  bool any() const { return !tiers_.empty(); }

  // By distinct operand.
  std::vector<plan::UseInPlace> of(graph::OpIndex op) const {
    std::vector<plan::UseInPlace> least = in_tier(op, tiers_.front());
    for (std::size_t i = 1; i < tiers_.size(); ++i) {
      const std::vector<plan::UseInPlace> other = in_tier(op, tiers_[i]);
      for (std::size_t k = 0; k < least.size(); ++k) {
        least[k] = {std::min(least[k].reading, other[k].reading), std::min(least[k].added, other[k].added)};
      }
    }
    return least;
  }

 private:
  std::vector<plan::UseInPlace> in_tier(graph::OpIndex op, memory::TierId tier) const {
    return costs_.is_measured(op, tier) ? measured(op, tier) : by_rule(op, tier);
  }

  std::vector<plan::UseInPlace> by_rule(graph::OpIndex op, memory::TierId tier) const {
    std::vector<plan::UseInPlace> uses;
    for (const profile::MemoryTraffic& traffic : costs_.traffic().of(op)) {
      const profile::MemorySeconds seconds = profile::memory_seconds(
          machine_.tier(tier), machine_.tier(memory::kFastTier), machine_.threads_of(kMainProcessor), traffic);
      uses.push_back({seconds.reading, seconds.writing});
    }
    return uses;
  }

  std::vector<plan::UseInPlace> measured(graph::OpIndex op, memory::TierId tier) const {
    const std::size_t count = graph::distinct_operands(graph_.op(op)).size();
    std::vector<plan::UseInPlace> uses(count);
    if (count > kMostInSets || tiers_.size() > 1) return uses;
    const auto has = [](profile::OperandSet set, std::size_t operand) { return (set >> operand & 1) != 0; };
    std::vector<Seconds> alone;
    for (std::size_t i = 0; i < count; ++i) alone.push_back(extra(op, tier, profile::OperandSet{1} << i));
    std::vector<double> share(count, 1);
    for (profile::OperandSet set = 1; set < profile::OperandSet{1} << count; ++set) {
      Seconds sum = 0;
      for (std::size_t i = 0; i < count; ++i) sum += has(set, i) ? alone[i] : 0;
      if (sum <= 0) continue;
      const double part = extra(op, tier, set) / sum;
      for (std::size_t i = 0; i < count; ++i) share[i] = has(set, i) ? std::min(share[i], part) : share[i];
    }
    for (std::size_t i = 0; i < count; ++i) uses[i].added = alone[i] * share[i];
    return uses;
  }

  Seconds extra(graph::OpIndex op, memory::TierId tier, profile::OperandSet slow) const {
    return costs_.op_seconds(op, profile::operand_tiers(graph_.op(op), slow, tier)) - costs_.op_seconds(op);
  }

  const graph::Graph& graph_;
  const profile::CostModel& costs_;
  const memory::Machine& machine_;
  std::vector<memory::TierId> tiers_;
};

}  // namespace

std::vector<std::vector<plan::UseInPlace>> in_place_costs(const graph::Graph& graph, const profile::CostModel& costs,
                                                          const memory::Machine& machine) {
  const OperandCosts operands(graph, costs, machine);
  if (!operands.any()) return {};
  std::vector<std::vector<plan::UseInPlace>> by_use(graph.tensors().size());
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    const std::vector<graph::TensorId> distinct = graph::distinct_operands(graph.op(op));
    const std::vector<plan::UseInPlace> uses = operands.of(op);
    for (std::size_t i = 0; i < distinct.size(); ++i) by_use[as_index(distinct[i])].push_back(uses[i]);
  }
  return by_use;
}

}  // namespace sluice::planners
