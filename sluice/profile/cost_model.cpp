#include "sluice/profile/cost_model.hpp"

#include <algorithm>

namespace sluice {
namespace {

// A bandwidth of 0 means that nobody measured or gave it: its bytes are then taken to cost nothing.
Seconds seconds_per_byte(BytesPerSecond bandwidth) { return bandwidth > 0 ? 1 / bandwidth : 0; }

// `operand_tiers`, with those operands in the fast tier whose own is not `kept`.
template <typename Predicate>
std::vector<TierId> only_tiers(std::span<const TierId> operand_tiers, Predicate kept) {
  std::vector<TierId> tiers(operand_tiers.begin(), operand_tiers.end());
  std::ranges::replace_if(
      tiers, [&](TierId tier) { return !kept(tier); }, kFastTier);
  return tiers;
}

}  // namespace

SlowByteSeconds slow_byte_seconds(const Machine& machine, TierId tier) {
  const Tier& slow = machine.tier(tier);
  const Tier& fast = machine.tier(kFastTier);
  const auto more = [](BytesPerSecond slow_bandwidth, BytesPerSecond fast_bandwidth) {
    return std::max(0.0, seconds_per_byte(slow_bandwidth) - seconds_per_byte(fast_bandwidth));
  };
  const BytesPerSecond beside = slow.beside_bandwidth;
  return {more(slow.read_bandwidth, beside > 0 ? beside : fast.read_bandwidth),
          more(slow.write_bandwidth, beside > 0 ? beside : fast.write_bandwidth)};
}

Seconds slow_access_seconds(const Graph& graph, const Machine& machine, OpIndex op,
                            std::span<const TierId> operand_tiers) {
  const Op& instruction = graph.op(op);
  SLUICE_CHECK(operand_tiers.size() == instruction.inputs.size() + instruction.outputs.size(),
               "one tier per operand of " + instruction.name);
  const auto bytes = [&](TensorId tensor) { return static_cast<Seconds>(graph.tensor(tensor).bytes); };
  Seconds seconds = 0;
  std::size_t operand = 0;
  for (const TensorId input : instruction.inputs) {
    const TierId tier = operand_tiers[operand++];
    if (tier != kFastTier) seconds += bytes(input) * slow_byte_seconds(machine, tier).read;
  }
  for (const TensorId output : instruction.outputs) {
    const TierId tier = operand_tiers[operand++];
    if (tier != kFastTier) seconds += bytes(output) * slow_byte_seconds(machine, tier).write;
  }
  return seconds;
}

Seconds injected_seconds(const Graph& graph, const Machine& machine, OpIndex op,
                         std::span<const TierId> operand_tiers) {
  const auto emulated = [&](TierId tier) { return machine.tier(tier).emulated(); };
  return slow_access_seconds(graph, machine, op, only_tiers(operand_tiers, emulated));
}

CostModel::CostModel(const Graph& graph, const Profile& profile, const Machine& machine)
    : graph_(graph), machine_(machine), op_seconds_(profile.op_seconds) {
  SLUICE_CHECK(op_seconds_.size() == graph.ops().size(), "the profile is of another graph than " + graph.name);
  placements_.resize(machine.tiers.size());
  for (const auto& times : profile.placements) {
    const auto tier = std::ranges::find(machine.tiers, times->tier, tier_key);
    if (tier != machine.tiers.end()) placements_[static_cast<std::size_t>(tier - machine.tiers.begin())] = times;
  }
}

Seconds CostModel::op_seconds(OpIndex op, std::span<const TierId> operand_tiers) const {
  Seconds seconds = op_seconds(op);
  for (TierId tier = kFastTier + 1; tier < static_cast<TierId>(machine_.tiers.size()); ++tier) {
    if (std::ranges::find(operand_tiers, tier) == operand_tiers.end()) continue;
    seconds += seconds_lost_to(tier, op, operand_tiers);
  }
  return std::max(op_seconds(op), seconds);
}

Seconds CostModel::seconds_lost_to(TierId tier, OpIndex op, std::span<const TierId> operand_tiers) const {
  const auto here = only_tiers(operand_tiers, [&](TierId each) { return each == tier; });
  const PlacementTimes* times = placements_[static_cast<std::size_t>(tier)].get();
  const OpConfigurations* configurations = times == nullptr ? nullptr : times->of(op);
  if (configurations == nullptr) return slow_access_seconds(op, here);
  const auto extra = extra_seconds(*configurations, operands_in(graph_.op(op), here, tier));
  return extra ? *extra + injected_seconds(graph_, machine_, op, here) : slow_access_seconds(op, here);
}

Seconds CostModel::slow_access_seconds(OpIndex op, std::span<const TierId> operand_tiers) const {
  return sluice::slow_access_seconds(graph_, machine_, op, operand_tiers);
}

double CostModel::interference(LinkId link) const {
  return machine_.link(link).interference * machine_.link(link).bandwidth;
}

std::optional<LinkId> CostModel::shares_with(LinkId link) const {
  return shared_speed(link) < 1 ? machine_.link_back(link) : std::nullopt;
}

double CostModel::shared_speed(LinkId link) const {
  const Link& path = machine_.link(link);
  if (path.bandwidth <= 0 || path.shared_bandwidth <= 0) return 1;
  return std::min(1.0, path.shared_bandwidth / path.bandwidth);
}

Seconds CostModel::transfer_seconds(LinkId link, Bytes bytes) const {
  const Link& path = machine_.link(link);
  return path.latency + static_cast<Seconds>(bytes) * seconds_per_byte(path.bandwidth);
}

}  // namespace sluice
