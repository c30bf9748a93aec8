#include "sluice/plan/plan_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/offsets/offset_packer.hpp"
#include "sluice/memory/offsets/stitched_packing.hpp"
#include "sluice/plan/own_encoding.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::plan {
namespace {

// When a migration goes, among those issued at the same moment. One that passes on what another brings at that moment
// cannot go first.
enum class Turn { kLeavesFastAtOnce, kAtOnce, kTakesItsTime };

std::vector<Turn> turns_of(const Plan& plan) {
  std::set<std::pair<ResidencyIndex, graph::OpIndex>> filled;
  for (const Migration& m : plan.migrations) filled.emplace(m.to, m.issue_after);
  std::vector<Turn> turns;
  turns.reserve(plan.migrations.size());
  for (const Migration& m : plan.migrations) {
    const bool at_once = m.needed_by == m.issue_after + 1;
    const bool first = plan.residencies[m.from].tier == memory::kFastTier && !filled.contains({m.from, m.issue_after});
    turns.push_back(!at_once ? Turn::kTakesItsTime : first ? Turn::kLeavesFastAtOnce : Turn::kAtOnce);
  }
  return turns;
}

std::vector<Migration> in_issue_order(const std::vector<Migration>& migrations, const std::vector<Turn>& turns) {
  std::vector<std::size_t> order(migrations.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(migrations[a].issue_after, turns[a]) < std::pair(migrations[b].issue_after, turns[b]);
  });
  std::vector<Migration> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) sorted.push_back(migrations[i]);
  return sorted;
}

// By residency: whether its room must be kept for half an op more, because a migration without width uses it up to its
// very end, and others issued at that moment might go before.
IdVector<ResidencyIndex, bool> kept_longer(const Plan& plan, const std::vector<Turn>& turns) {
  IdVector<ResidencyIndex, bool> kept(plan.residencies.size(), false);
  for (std::size_t i = 0; i < plan.migrations.size(); ++i) {
    const Migration& m = plan.migrations[i];
    if (turns[i] == Turn::kTakesItsTime) continue;
    if (turns[i] == Turn::kAtOnce && plan.residencies[m.from].ops.end == m.needed_by) kept[m.from] = true;
    if (plan.residencies[m.to].ops.end == m.needed_by) kept[m.to] = true;
  }
  return kept;
}

// By residency: the one whose offset it must have, or -1.
IdVector<ResidencyIndex, ResidencyIndex> cycle_partners(const graph::Graph& graph, const Plan& plan) {
  IdVector<ResidencyIndex, ResidencyIndex> partners(plan.residencies.size(), -1);
  const auto starts = start_residencies(graph, plan);
  for (std::size_t i = 0; i < plan.residencies.size(); ++i) {
    const Residency& residency = plan.residencies[i];
    if (residency.ops.end != graph.op_count()) continue;
    for (const ResidencyIndex start : starts[as_index(residency.tensor)]) {
      if (as_index(start) != i && plan.residencies[start].tier == residency.tier) partners[i] = start;
    }
  }
  return partners;
}

// Packing counts half ops.
Interval<std::int32_t> packing_interval(const Residency& residency, bool kept_longer) {
  return {2 * residency.ops.begin, 2 * residency.ops.end + (kept_longer ? 1 : 0)};
}

void make_disjoint(std::vector<Interval<std::int32_t>>& live) {
  std::sort(live.begin(), live.end());
  for (std::size_t i = 1; i < live.size(); ++i) live[i].begin = std::max(live[i].begin, live[i - 1].end);
}

// What is packed in one tier: an item is a residency or a block, or two that must share an offset to close the cycle.
struct TierItems {
  std::vector<memory::OffsetItem> items;
  IdVector<ResidencyIndex, std::int32_t> item_of;  // -1: in another tier
};

TierItems collect_items(const graph::Graph& graph, const Plan& plan, memory::TierId tier, const std::vector<bool>& kept,
                        const std::vector<Room>& rooms) {
  const IdVector<ResidencyIndex, ResidencyIndex> partners = cycle_partners(graph, plan);
  const std::vector<BlockPlace> places = block_places(plan);
  TierItems result;
  result.item_of.assign(plan.residencies.size(), -1);
  const auto join = [&](std::size_t i, std::int32_t index) {
    memory::OffsetItem& item = result.items[as_index(index)];
    Bytes bytes = rooms[i].bytes;
    if (places[i].block >= 0) bytes = block_offsets(graph, plan, plan.blocks[as_index(places[i].block)]).back();
    item.bytes = std::max(item.bytes, bytes);
    item.alignment = std::max(item.alignment, rooms[i].alignment);
    item.live.push_back(packing_interval(plan.residencies[i], kept[i]));
    result.item_of[i] = index;
  };
  for (std::size_t i = 0; i < plan.residencies.size(); ++i) {
    if (plan.residencies[i].tier != tier || partners[i] >= 0 || places[i].member > 0) continue;
    result.items.emplace_back().alignment = rooms[i].alignment;
    join(i, static_cast<std::int32_t>(result.items.size()) - 1);
  }
  for (std::size_t i = 0; i < plan.residencies.size(); ++i) {
    if (plan.residencies[i].tier != tier || partners[i] < 0 || places[i].member > 0) continue;
    join(i, result.item_of[partners[i]]);
  }
  for (memory::OffsetItem& item : result.items) make_disjoint(item.live);
  return result;
}

Error does_not_fit(const memory::Machine& machine, const PackingFailure& failure) {
  const bool proved = failure.bound > failure.budget;
  return {proved ? ErrorCode::kInfeasible : ErrorCode::kNoneFound,
          fmt::format("the plan needs {} bytes ({}) of tier {} '{}', and its budget is {} bytes ({}); {}: raise the "
                      "budget, or keep less there",
                      failure.needed, format_bytes(failure.needed), failure.tier, machine.tier(failure.tier).name,
                      failure.budget, format_bytes(failure.budget),
                      proved ? fmt::format("{} bytes are resident there at one time", failure.bound)
                             : std::string("it would fit without fragmentation")),
          failure.needed, failure.budget};
}

// Each item in one piece where that packs, else in several; the height says by how much neither does.
memory::OffsetAssignment pack_or_stitch(std::span<const memory::OffsetItem> items, Bytes room, Bytes staging,
                                        Plan& plan) {
  if (std::optional<memory::OffsetAssignment> whole = memory::assign_offsets_within(items, room))
    return *std::move(whole);
  const Bytes most_live = memory::max_live_bytes(items);
  if (most_live > room) return {std::vector<Bytes>(items.size()), most_live, most_live};
  memory::StitchedPacking stitched = memory::pack_stitched(items, room, room + staging);
  plan.stitches = std::move(stitched.stitches);
  return {std::move(stitched.addresses), room + stitched.missing, most_live};
}

}  // namespace

PlanBuilder::PlanBuilder(const graph::Graph& graph, const memory::Machine& machine) : graph_(graph), machine_(machine) {
  plan_.graph_name = graph.name;
  plan_.graph_fingerprint = graph.fingerprint();
  plan_.machine_fingerprint = machine.fingerprint();
  for (const graph::Op& op : graph.ops()) {
    const std::size_t operands = op.inputs.size() + op.outputs.size();
    plan_.ops.push_back({0, std::vector<memory::TierId>(operands, memory::kFastTier), op.processor});
  }
}

PlanBuilder::PlanBuilder(const graph::Graph& graph, const memory::Machine& machine, const Plan& plan)
    : PlanBuilder(graph, machine) {
  for (const Residency& each : plan.residencies) {
    add_residency(each.tensor, each.tier, each.ops);
    plan_.residencies.back().encoding = each.encoding;
  }
  for (const Migration& m : plan.migrations) {
    add_migration(m.tensor, m.from, m.to, m.issue_after, m.needed_by, m.cause);
  }
}

ResidencyIndex PlanBuilder::add_residency(graph::TensorId tensor, memory::TierId tier, Interval<graph::OpIndex> ops) {
  SLUICE_CHECK(tensor >= 0 && tensor < graph_.tensor_count(), fmt::format("no tensor {}", tensor));
  SLUICE_CHECK(tier >= 0 && as_index(tier) < machine_.tiers.size(), fmt::format("no tier {}", tier));
  plan_.residencies.push_back({tensor, tier, 0, ops});
  return as_id<ResidencyIndex>(plan_.residencies.size()) - 1;
}

MigrationIndex PlanBuilder::add_migration(graph::TensorId tensor, ResidencyIndex from, ResidencyIndex to,
                                          graph::OpIndex issue_after, graph::OpIndex needed_by, Cause cause) {
  for (const ResidencyIndex side : {from, to}) {
    SLUICE_CHECK(plan_.residencies.holds(side), fmt::format("no residency {}", side));
    SLUICE_CHECK(plan_.residencies[side].tensor == tensor, "a migration joins residencies of its own tensor");
  }
  plan_.migrations.push_back({tensor, from, to, issue_after, needed_by, cause});
  return as_id<MigrationIndex>(plan_.migrations.size()) - 1;
}

void PlanBuilder::encode(ResidencyIndex residency) {
  Residency& chosen = plan_.residencies.at(residency);
  chosen.encoding = own_encoding(graph_.tensor(chosen.tensor));
}

void PlanBuilder::add_block(std::vector<ResidencyIndex> members) {
  for (const ResidencyIndex member : members) {
    SLUICE_CHECK(plan_.residencies.holds(member), fmt::format("no residency {}", member));
  }
  plan_.blocks.push_back({std::move(members)});
}

void PlanBuilder::set_operand_tier(graph::OpIndex op, int operand, memory::TierId tier) {
  plan_.ops.at(op).operand_tiers.at(operand) = tier;
}

void PlanBuilder::set_tensor_tier(graph::OpIndex op, graph::TensorId tensor, memory::TierId tier) {
  int operand = 0;
  for (const auto* operands : {&graph_.op(op).inputs, &graph_.op(op).outputs}) {
    for (const graph::TensorId id : *operands) {
      if (id == tensor) set_operand_tier(op, operand, tier);
      ++operand;
    }
  }
}

void PlanBuilder::set_residency_ops(ResidencyIndex residency, Interval<graph::OpIndex> ops) {
  plan_.residencies.at(residency).ops = ops;
}

Result<Plan> PlanBuilder::finish(std::span<const Bytes> budgets, PackingFailure* failure, std::int64_t effort) const {
  if (budgets.size() != machine_.tiers.size()) {
    return Error{ErrorCode::kBadInput, fmt::format("{} budgets were given for {} tiers: give one for each tier",
                                                   budgets.size(), machine_.tiers.size())};
  }
  Plan plan = plan_;
  plan.budgets.assign(budgets.begin(), budgets.end());
  plan.arena_bytes.assign(budgets.size(), 0);
  const std::vector<Turn> turns = turns_of(plan);
  const IdVector<ResidencyIndex, bool> kept = kept_longer(plan, turns);
  plan.migrations = in_issue_order(plan.migrations, turns);
  for (std::size_t tier = 0; tier < budgets.size(); ++tier) {
    SLUICE_RETURN_IF_ERROR(pack_tier(as_id<memory::TierId>(tier), budgets[tier], kept, effort, plan, failure));
  }
  return plan;
}

bool PlanBuilder::may_stitch(memory::TierId tier) const {
  return tier == memory::kFastTier && !whole_ && machine_.tier(tier).kind->can_stitch;
}

Status PlanBuilder::pack_tier(memory::TierId tier, Bytes budget, const std::vector<bool>& kept, std::int64_t effort,
                              Plan& plan, PackingFailure* failure) const {
  std::vector<Room> rooms = residency_rooms(graph_, plan);
  for (Room& room : rooms) {
    if (pages_apart_) room = {align_up(room.bytes, memory::kBlockAlignment), memory::kBlockAlignment};
  }
  const TierItems packed = collect_items(graph_, plan, tier, kept, rooms);
  const Bytes staging = tier == memory::kFastTier ? staging_bytes(plan) : 0;
  const Bytes room = align_down(budget - staging, memory::kBlockAlignment);
  memory::OffsetAssignment assignment = may_stitch(tier) ? pack_or_stitch(packed.items, room, staging, plan)
                                                         : memory::pack_offsets(packed.items, room, effort);
  const Bytes height = align_up(assignment.height, memory::kBlockAlignment) + staging;
  plan.arena_bytes[as_index(tier)] = height;
  for (std::size_t i = 0; i < packed.item_of.size(); ++i) {
    if (packed.item_of[i] >= 0) plan.residencies[i].offset = assignment.offsets[as_index(packed.item_of[i])];
  }
  for (const Block& block : plan.blocks) {
    const std::vector<Bytes> offsets = block_offsets(graph_, plan, block);
    const Bytes begin = plan.residencies[block.members.front()].offset;
    for (std::size_t i = 0; i < block.members.size(); ++i) {
      Residency& member = plan.residencies[block.members[i]];
      if (member.tier == tier) member.offset = begin + offsets[i];
    }
  }
  if (height <= budget) return {};
  const PackingFailure found{tier, budget, height, assignment.lower_bound + staging};
  if (failure != nullptr) *failure = found;
  return does_not_fit(machine_, found);
}

}  // namespace sluice::plan
