#include "sluice/profile/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice::profile {
namespace {

constexpr std::size_t kMostForAll = 4;  // distinct operands of which every configuration is measured

OperandSet bit(std::size_t operand) { return OperandSet{1} << operand; }

OperandSet all_of(std::size_t count) { return count == kMostOperands ? ~OperandSet{0} : bit(count) - 1; }

OperandSet members(const graph::Op& op, const std::vector<graph::TensorId>& tensors) {
  const std::vector<graph::TensorId> distinct = graph::distinct_operands(op);
  OperandSet set = 0;
  for (std::size_t i = 0; i < std::min(distinct.size(), kMostOperands); ++i) {
    if (std::ranges::find(tensors, distinct[i]) != tensors.end()) set |= bit(i);
  }
  return set;
}

Seconds extra_of(const OpConfigurations& configurations, const ConfigurationTime& configuration) {
  return configuration.timing.median - configurations.front().timing.median;
}

std::optional<Seconds> sum_of_single(const OpConfigurations& configurations, OperandSet slow) {
  Seconds sum = 0;
  for (std::size_t operand = 0; operand < kMostOperands; ++operand) {
    if ((slow & bit(operand)) == 0) continue;
    const auto single = std::ranges::find(configurations, bit(operand), &ConfigurationTime::slow);
    if (single == configurations.end()) return std::nullopt;
    sum += extra_of(configurations, *single);
  }
  return sum;
}

}  // namespace

const OpConfigurations* PlacementTimes::of(graph::OpIndex op) const {
  const std::int32_t at = index.at(as_index(op));
  return at < 0 ? nullptr : &distinct.at(as_index(at));
}

std::string tier_key(const memory::Tier& tier) {
  if (tier.kind->figures == memory::FiguresFrom::kTheTier)
    return fmt::format("{}({})", tier.name, to_string(tier.kind));
  return fmt::format("{}({},{:.0f},{:.0f})", tier.name, to_string(tier.kind), tier.read_bandwidth,
                     tier.write_bandwidth);
}

std::vector<OperandSet> configurations_to_measure(const graph::Op& op) {
  const std::size_t count = graph::distinct_operands(op).size();
  if (count > kMostOperands) return {};
  std::vector<OperandSet> sets;
  if (count <= kMostForAll) {
    for (OperandSet set = 0; set <= all_of(count); ++set) sets.push_back(set);
    return sets;
  }
  sets.push_back(0);
  for (std::size_t operand = 0; operand < count; ++operand) sets.push_back(bit(operand));
  for (const OperandSet set : {read_operands(op), written_operands(op), all_of(count)}) {
    if (std::ranges::find(sets, set) == sets.end()) sets.push_back(set);
  }
  return sets;
}

std::vector<memory::TierId> operand_tiers(const graph::Op& op, OperandSet slow, memory::TierId tier) {
  const std::vector<graph::TensorId> distinct = graph::distinct_operands(op);
  std::vector<memory::TierId> tiers;
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const graph::TensorId id : *operands) {
      const auto place = as_index(std::ranges::find(distinct, id) - distinct.begin());
      tiers.push_back(place < kMostOperands && (slow & bit(place)) != 0 ? tier : memory::kFastTier);
    }
  }
  return tiers;
}

OperandSet operands_in(const graph::Op& op, std::span<const memory::TierId> operand_tiers, memory::TierId tier) {
  std::vector<graph::TensorId> inside;
  std::size_t operand = 0;
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const graph::TensorId id : *operands) {
      if (operand_tiers[operand++] == tier) inside.push_back(id);
    }
  }
  return members(op, inside);
}

OperandSet read_operands(const graph::Op& op) { return members(op, op.inputs); }
OperandSet written_operands(const graph::Op& op) { return members(op, op.outputs); }

std::optional<Seconds> extra_seconds(const OpConfigurations& configurations, OperandSet slow) {
  if (configurations.empty()) return std::nullopt;
  if (slow == 0) return 0;
  bool is_measured = false;
  Seconds of_parts = -std::numeric_limits<Seconds>::infinity();
  Seconds of_wholes = std::numeric_limits<Seconds>::infinity();
  for (const ConfigurationTime& each : configurations) {
    const Seconds extra = extra_of(configurations, each);
    is_measured = is_measured || each.slow == slow;
    if ((each.slow & slow) == each.slow) of_parts = std::max(of_parts, extra);
    if ((each.slow & slow) == slow) of_wholes = std::min(of_wholes, extra);
  }
  if (is_measured) return of_wholes;
  const std::optional<Seconds> sum = sum_of_single(configurations, slow);
  if (!sum) return std::nullopt;
  return std::min(of_wholes, std::max(of_parts, *sum));
}

}  // namespace sluice::profile
