#include "sluice/profile/cost_model.hpp"

#include <algorithm>
#include <array>

#include "sluice/base/as_index.hpp"

namespace sluice::profile {
namespace {

// A bandwidth of 0 means that nobody measured or gave it: its bytes are then taken to cost nothing.
Seconds seconds_per_byte(BytesPerSecond bandwidth) { return bandwidth > 0 ? 1 / bandwidth : 0; }

MemorySeconds seconds_in(const graph::Graph& graph, const memory::Machine& machine, const OpTraffic& traffic,
                         graph::OpIndex op, std::span<const memory::TierId> operand_tiers, memory::TierId tier) {
  return memory_seconds(machine.tier(tier), machine.tier(memory::kFastTier), machine.threads_of(graph.op(op).processor),
                        traffic.in_tier(graph, op, operand_tiers, tier));
}

// But for those that are the processor's own.
std::vector<memory::TierId> slow_tiers_among(const memory::Machine& machine, ProcessorId processor,
                                             std::span<const memory::TierId> operand_tiers) {
  std::vector<memory::TierId> tiers;
  for (memory::TierId tier = memory::kFastTier + 1; tier < as_id<memory::TierId>(machine.tiers.size()); ++tier) {
    const bool used = std::ranges::find(operand_tiers, tier) != operand_tiers.end();
    if (used && !machine.owns(processor, tier)) tiers.push_back(tier);
  }
  return tiers;
}

}  // namespace

MemorySeconds emulated_seconds(const graph::Graph& graph, const memory::Machine& machine, const OpTraffic& traffic,
                               graph::OpIndex op, std::span<const memory::TierId> operand_tiers) {
  MemorySeconds sum;
  for (const memory::TierId tier : slow_tiers_among(machine, graph.op(op).processor, operand_tiers)) {
    if (machine.tier(tier).emulated()) sum += seconds_in(graph, machine, traffic, op, operand_tiers, tier);
  }
  return sum;
}

CostModel::CostModel(const graph::Graph& graph, const Profile& profile, const memory::Machine& machine)
    : CostModel(graph, profile, machine, std::make_shared<const OpTraffic>(graph, machine.cache_bytes)) {}

CostModel CostModel::with(const Profile& profile, const memory::Machine& machine) const {
  SLUICE_CHECK(machine.cache_bytes == machine_.cache_bytes, "traffic is of caches of one size");
  return {graph_, profile, machine, traffic_};
}

CostModel::CostModel(const graph::Graph& graph, const Profile& profile, const memory::Machine& machine,
                     std::shared_ptr<const OpTraffic> traffic)
    : graph_(graph),
      machine_(machine),
      encodings_(profile.encodings),
      traffic_(std::move(traffic)),
      op_seconds_(profile.op_seconds) {
  SLUICE_CHECK(op_seconds_.size() == graph.ops().size(), "the profile is of another graph than " + graph.name);
  placements_.resize(machine.tiers.size());
  for (const auto& times : profile.placements) {
    const auto tier = std::ranges::find(machine.tiers, times->tier, tier_key);
    if (tier != machine.tiers.end()) placements_[as_index(tier - machine.tiers.begin())] = times;
  }
}

Seconds CostModel::op_seconds(graph::OpIndex op, std::span<const memory::TierId> operand_tiers) const {
  Seconds measured = op_seconds(op);
  MemorySeconds modelled;
  for (const memory::TierId tier : slow_tiers_among(machine_, graph_.op(op).processor, operand_tiers)) {
    const std::optional<Seconds> extra = measured_extra(tier, op, operand_tiers);
    measured += extra.value_or(0);
    if (!extra || machine_.tier(tier).emulated()) {
      modelled += seconds_in(graph_, machine_, *traffic_, op, operand_tiers, tier);
    }
  }
  return op_seconds_with(std::max(op_seconds(op), measured), modelled);
}

std::optional<Seconds> CostModel::measured_extra(memory::TierId tier, graph::OpIndex op,
                                                 std::span<const memory::TierId> operand_tiers) const {
  const OpConfigurations* measured = configurations(op, tier);
  if (measured == nullptr) return std::nullopt;
  return extra_seconds(*measured, operands_in(graph_.op(op), operand_tiers, tier));
}

const OpConfigurations* CostModel::configurations(graph::OpIndex op, memory::TierId tier) const {
  const PlacementTimes* times = placements_[as_index(tier)].get();
  return times == nullptr ? nullptr : times->of(op);
}

bool CostModel::is_measured(graph::OpIndex op, memory::TierId tier) const {
  return configurations(op, tier) != nullptr && !machine_.tier(tier).emulated();
}

double CostModel::interference(memory::LinkId link) const {
  return machine_.link(link).interference * machine_.link(link).bandwidth;
}

std::optional<memory::LinkId> CostModel::shares_with(memory::LinkId link) const {
  return shared_speed(link) < 1 ? machine_.link_back(link) : std::nullopt;
}

double CostModel::shared_speed(memory::LinkId link) const {
  const memory::Link& path = machine_.link(link);
  if (path.bandwidth <= 0 || path.shared_bandwidth <= 0) return 1;
  return std::min(1.0, path.shared_bandwidth / path.bandwidth);
}

Seconds CostModel::transfer_seconds(memory::LinkId link, Bytes bytes) const {
  const memory::Link& path = machine_.link(link);
  return path.latency + static_cast<Seconds>(bytes) * seconds_per_byte(path.bandwidth);
}

Bytes CostModel::moved_bytes(const Load& load) const {
  if (!load.encoded || encodings_ == nullptr) return load.bytes;
  const Bytes encoded = encodings_->encoded_bytes.at(as_index(load.tensor));
  return encoded > 0 ? std::min(encoded, load.bytes) : load.bytes;
}

Seconds CostModel::coding_seconds(memory::LinkId link, const Load& load) const {
  if (!load.encoded || encodings_ == nullptr) return 0;
  const CoderSpeed& coder = encodings_->speed(graph_.tensor(load.tensor));
  const BytesPerSecond speed = machine_.link(link).from == memory::kFastTier ? coder.encode : coder.decode;
  return static_cast<Seconds>(load.bytes) * seconds_per_byte(speed);
}

Seconds CostModel::transfer_seconds(memory::LinkId link, const Load& load) const {
  return transfer_seconds(link, moved_bytes(load)) + coding_seconds(link, load);
}

Seconds CostModel::request_seconds(memory::LinkId link, Bytes bytes) const {
  const memory::Link& path = machine_.link(link);
  const Bytes requests = (bytes + path.request_bytes - 1) / path.request_bytes;
  return static_cast<Seconds>(requests) * path.request_interference;
}

double CostModel::interference(memory::LinkId link, const Load& load) const {
  const Bytes moved = moved_bytes(load);
  const Seconds more = coding_seconds(link, load) + request_seconds(link, moved);
  if (more <= 0) return interference(link);
  return (interference(link) * transfer_seconds(link, moved) + more) / transfer_seconds(link, load);
}

bool CostModel::worth_encoding(memory::LinkId outward, memory::LinkId inward, graph::TensorId tensor,
                               Bytes bytes) const {
  if (encodings_ == nullptr) return false;
  const CoderSpeed& coder = encodings_->speed(graph_.tensor(tensor));
  if (coder.encode <= 0 || coder.decode <= 0) return false;
  return std::ranges::all_of(std::array{outward, inward}, [&](memory::LinkId link) {
    return transfer_seconds(link, {tensor, bytes, true}) < transfer_seconds(link, bytes);
  });
}

}  // namespace sluice::profile
