#include "sluice/plan/rooms.hpp"

#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice::plan {

Bytes staging_bytes(const Plan& plan) {
  std::set<memory::TierId> tiers;
  for (const Residency& residency : plan.residencies) {
    if (residency.encoded()) tiers.insert(residency.tier);
  }
  return kLeastStagingBytes * std::ssize(tiers);
}

std::vector<bool> migrating_residencies(const Plan& plan) {
  std::vector<bool> migrating(plan.residencies.size(), false);
  for (const Migration& migration : plan.migrations) {
    for (const ResidencyIndex side : {migration.from, migration.to}) {
      if (side >= 0 && as_index(side) < migrating.size()) migrating[as_index(side)] = true;
    }
  }
  return migrating;
}

std::vector<Room> residency_rooms(const graph::Graph& graph, const Plan& plan) {
  const std::vector<bool> migrating = migrating_residencies(plan);
  std::vector<Room> rooms;
  rooms.reserve(plan.residencies.size());
  for (const Residency& residency : plan.residencies) {
    rooms.push_back(room_for(graph.tensor(residency.tensor), residency.tier, migrating[rooms.size()]));
  }
  for (const Block& block : plan.blocks) {
    const std::vector<Bytes> offsets = block_offsets(graph, plan, block);
    for (std::size_t i = 0; i < block.members.size(); ++i) {
      rooms[as_index(block.members[i])] = {offsets[i + 1] - offsets[i],
                                           i == 0 ? memory::kBlockAlignment : kOperandAlignment};
    }
  }
  return rooms;
}

std::vector<BlockPlace> block_places(const Plan& plan) {
  std::vector<BlockPlace> places(plan.residencies.size());
  for (std::size_t block = 0; block < plan.blocks.size(); ++block) {
    const auto& members = plan.blocks[block].members;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i] < 0 || as_index(members[i]) >= places.size()) continue;
      places[as_index(members[i])] = {as_id<std::int32_t>(block), i};
    }
  }
  return places;
}

std::vector<Bytes> block_offsets(const graph::Graph& graph, const Plan& plan, const Block& block) {
  std::vector<Bytes> offsets{0};
  for (const ResidencyIndex member : block.members) {
    const graph::TensorId tensor = plan.residencies[member].tensor;
    offsets.push_back(offsets.back() + align_up(graph.tensor(tensor).bytes, kOperandAlignment));
  }
  offsets.back() = align_up(offsets.back(), memory::kBlockAlignment);
  return offsets;
}

std::vector<std::vector<ResidencyIndex>> start_residencies(const graph::Graph& graph, const Plan& plan) {
  std::vector<bool> filled_at_start(plan.residencies.size(), false);
  for (const Migration& migration : plan.migrations) {
    if (migration.issue_after == kStepStart) filled_at_start.at(as_index(migration.to)) = true;
  }
  std::vector<std::vector<ResidencyIndex>> starts(graph.tensors().size());
  for (std::size_t i = 0; i < plan.residencies.size(); ++i) {
    const Residency& residency = plan.residencies[i];
    if (!graph::is_persistent(graph.tensor(residency.tensor).role)) continue;
    if (!residency.ops.contains(0) || filled_at_start[i]) continue;
    starts[as_index(residency.tensor)].push_back(as_id<ResidencyIndex>(i));
  }
  return starts;
}

Bytes largest_working_set(const graph::Graph& graph, graph::OpIndex* op) {
  Bytes largest = 0;
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    Bytes bytes = 0;
    for (const graph::TensorId id : graph::distinct_operands(graph.op(index))) {
      bytes += room_for(graph.tensor(id), memory::kFastTier, false).bytes;
    }
    if (bytes <= largest) continue;
    largest = bytes;
    if (op != nullptr) *op = index;
  }
  return largest;
}

}  // namespace sluice::plan
