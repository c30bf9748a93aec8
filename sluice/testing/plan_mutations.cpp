#include "sluice/testing/plan_mutations.hpp"

#include <algorithm>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/own_encoding.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::testing {
namespace {

// One operand of one op, with the residency it is found in.
struct OperandUse {
  graph::OpIndex op = 0;
  graph::TensorId tensor = 0;
  memory::TierId tier = 0;
  plan::ResidencyIndex residency = 0;
  bool writes = false;
};

std::optional<plan::ResidencyIndex> residency_at(const plan::Plan& plan, graph::TensorId tensor, memory::TierId tier,
                                                 graph::OpIndex op) {
  for (std::size_t i = 0; i < plan.residencies.size(); ++i) {
    const plan::Residency& r = plan.residencies[i];
    if (r.tensor == tensor && r.tier == tier && r.ops.contains(op)) return as_id<plan::ResidencyIndex>(i);
  }
  return std::nullopt;
}

std::vector<OperandUse> operand_uses(const PlanCase& c) {
  std::vector<OperandUse> uses;
  for (graph::OpIndex index = 0; index < c.graph.op_count(); ++index) {
    const graph::Op& op = c.graph.op(index);
    const auto& tiers = c.plan.ops[as_index(index)].operand_tiers;
    const auto add = [&](graph::TensorId tensor, memory::TierId tier, bool writes) {
      uses.push_back({index, tensor, tier, residency_at(c.plan, tensor, tier, index).value(), writes});
    };
    for (std::size_t i = 0; i < op.inputs.size(); ++i) add(op.inputs[i], tiers[i], false);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) add(op.outputs[i], tiers[op.inputs.size() + i], true);
  }
  return uses;
}

bool written_between(const PlanCase& c, graph::TensorId tensor, graph::OpIndex first, graph::OpIndex last) {
  for (graph::OpIndex op = std::max(first, 0); op < last; ++op) {
    const auto& outputs = c.graph.op(op).outputs;
    if (std::find(outputs.begin(), outputs.end(), tensor) != outputs.end()) return true;
  }
  return false;
}

void set_tensor_tier(PlanCase& c, graph::OpIndex index, graph::TensorId tensor, memory::TierId tier) {
  const graph::Op& op = c.graph.op(index);
  auto& tiers = c.plan.ops[as_index(index)].operand_tiers;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const graph::TensorId operand = i < op.inputs.size() ? op.inputs[i] : op.outputs[i - op.inputs.size()];
    if (operand == tensor) tiers[i] = tier;
  }
}

// Whether a migration fills the residency after `op`: then it cannot be cut there and stay well-formed.
bool filled_after(const plan::Plan& plan, plan::ResidencyIndex residency, graph::OpIndex op) {
  return std::any_of(plan.migrations.begin(), plan.migrations.end(),
                     [&](const plan::Migration& m) { return m.to == residency && m.needed_by > op; });
}

void delete_migration(plan::Plan& plan, std::size_t index) {
  plan.migrations.erase(iterator_at(plan.migrations, index));
}

bool misalign_offset(PlanCase& c) {
  c.plan.residencies[c.random.between<std::size_t>(0, c.plan.residencies.size() - 1)].offset += 32;
  return true;
}

bool swap_issue_order(PlanCase& c) {
  for (std::size_t i = 1; i < c.plan.migrations.size(); ++i) {
    if (c.plan.migrations[i - 1].issue_after == c.plan.migrations[i].issue_after) continue;
    std::swap(c.plan.migrations[i - 1], c.plan.migrations[i]);
    return true;
  }
  return false;
}

bool change_graph(PlanCase& c) {
  c.graph.tensor(c.random.between(0, c.graph.tensor_count() - 1)).bytes += 4;
  return true;
}

bool change_machine(PlanCase& c) {
  c.machine.tiers[1].addressable = !c.machine.tiers[1].addressable;
  return true;
}

bool shorten_residency(PlanCase& c) {
  const OperandUse use = c.random.pick(operand_uses(c));
  plan::Residency& residency = c.plan.residencies[as_index(use.residency)];
  if (residency.ops.begin == use.op || filled_after(c.plan, use.residency, use.op)) return false;
  residency.ops.end = use.op;
  return true;
}

bool delete_only_fill(PlanCase& c) {
  const auto uses = operand_uses(c);
  for (std::size_t i = 0; i < c.plan.migrations.size(); ++i) {
    const plan::ResidencyIndex to = c.plan.migrations[i].to;
    const auto fills = std::count_if(c.plan.migrations.begin(), c.plan.migrations.end(),
                                     [&](const plan::Migration& m) { return m.to == to; });
    const auto first = std::find_if(uses.begin(), uses.end(), [&](const OperandUse& u) { return u.residency == to; });
    if (fills != 1 || first == uses.end() || first->writes) continue;
    const bool would_begin_there = c.plan.residencies[as_index(to)].ops.begin == 0;
    if (first->op < c.plan.migrations[i].needed_by || would_begin_there) continue;
    delete_migration(c.plan, i);
    return true;
  }
  return false;
}

bool expect_in_wrong_tier(PlanCase& c) {
  const OperandUse use = c.random.pick(operand_uses(c));
  const memory::TierId wrong = (use.tier + 1) % as_id<memory::TierId>(c.machine.tiers.size());
  if (residency_at(c.plan, use.tensor, wrong, use.op)) return false;
  set_tensor_tier(c, use.op, use.tensor, wrong);
  return true;
}

bool expect_in_file(PlanCase& c) {
  if (c.machine.tiers.back().addressable) return false;
  const OperandUse use = c.random.pick(operand_uses(c));
  set_tensor_tier(c, use.op, use.tensor, as_id<memory::TierId>(c.machine.tiers.size()) - 1);
  return true;
}

bool choose_no_implementation(PlanCase& c) {
  c.plan.ops[c.random.between(0, c.graph.op_count() - 1)].implementation = 7;
  return true;
}

bool choose_no_processor(PlanCase& c) {
  c.plan.ops[c.random.between(0, c.graph.op_count() - 1)].processor = as_id<ProcessorId>(c.machine.processor_count());
  return true;
}

// Gives an op to a processor that sees only the tiers where the op's operands are not.
bool run_where_operands_are_out_of_reach(PlanCase& c) {
  const OperandUse use = c.random.pick(operand_uses(c));
  c.machine.processors = {{.name = "device"}, {.name = "host"}};
  for (memory::TierId tier = 0; tier < as_id<memory::TierId>(c.machine.tiers.size()); ++tier) {
    if (tier != use.tier) c.machine.processors[1].tiers.push_back(tier);
  }
  if (c.machine.processors[1].tiers.empty()) return false;
  c.plan.machine_fingerprint = c.machine.fingerprint();
  c.plan.ops[use.op].processor = 1;
  return true;
}

// One with a workspace that is larger than the room it was packed in.
bool choose_a_larger_workspace(PlanCase& c) {
  if (!c.plan.stitches.empty()) return false;  // it would reach beyond one
  for (graph::OpIndex op = 0; op < c.graph.op_count(); ++op) {
    auto& known = c.graph.op(op).implementations;
    if (known.size() < 2 || known[0].workspace_bytes < memory::kBlockAlignment)
      continue;  // small ones lie in shared pages
    known[1].workspace_bytes = known[0].workspace_bytes + Bytes{1} * kGiB;
    c.plan.graph_fingerprint = c.graph.fingerprint();
    c.plan.ops[op].implementation = 1;
    return true;
  }
  return false;
}

bool shift_onto_another(PlanCase& c) {
  if (!c.plan.stitches.empty()) return false;
  plan::Residency& moved = c.plan.residencies[c.random.between<std::size_t>(0, c.plan.residencies.size() - 1)];
  for (const plan::Residency& other : c.plan.residencies) {
    if (&other == &moved || other.tier != moved.tier || !other.ops.overlaps(moved.ops)) continue;
    moved.offset = other.offset;
    return true;
  }
  return false;
}

// The stitch in which a residency lies, and its first page there. -1: none.
std::ptrdiff_t stitch_of(const PlanCase& c, const plan::Residency& r) {
  const auto at = std::ranges::find(c.plan.stitches, r.offset, &memory::Stitch::address);
  return r.tier == memory::kFastTier && at != c.plan.stitches.end() ? at - c.plan.stitches.begin() : -1;
}

// Its first page is another's, of a time when both are there.
bool stitch_onto_another(PlanCase& c) {
  for (const plan::Residency& moved : c.plan.residencies) {
    for (const plan::Residency& other : c.plan.residencies) {
      if (stitch_of(c, moved) < 0 || stitch_of(c, other) < 0 || !other.ops.overlaps(moved.ops)) continue;
      auto& memory = c.plan.stitches[as_index(stitch_of(c, moved))].memory;
      const Bytes page = c.plan.stitches[as_index(stitch_of(c, other))].memory.front().begin;
      if (&other == &moved || memory.front().begin == page) continue;
      memory.front().begin += memory::kBlockAlignment;
      if (memory.front().empty()) memory.erase(memory.begin());
      memory.insert(memory.begin(), {page, page + memory::kBlockAlignment});
      return true;
    }
  }
  return false;
}

// One of its pages behind its last one.
bool stitch_a_page_twice(PlanCase& c) {
  if (c.plan.stitches.empty()) return false;
  auto& memory = c.plan.stitches.back().memory;
  memory.push_back({memory.front().begin, memory.front().begin + memory::kBlockAlignment});
  return true;
}

bool stitch_beyond_the_arena(PlanCase& c) {
  if (c.plan.stitches.empty()) return false;
  auto& memory = c.plan.stitches.front().memory;
  const Bytes bytes = memory.front().length();
  memory.front() = {c.plan.arena_bytes.front(), c.plan.arena_bytes.front() + bytes};
  return true;
}

bool stitch_on_addresses_of_the_arena(PlanCase& c) {
  if (c.plan.stitches.empty()) return false;
  c.plan.stitches.front().address = c.plan.arena_bytes.front() - memory::kBlockAlignment;
  return true;
}

bool lie_across_stitches(PlanCase& c) {
  for (plan::Residency& r : c.plan.residencies) {
    if (stitch_of(c, r) < 0) continue;
    r.offset += memory::kBlockAlignment;
    return true;
  }
  return false;
}

bool shrink_budget(PlanCase& c) {
  const auto tier = c.random.between<std::size_t>(0, c.plan.budgets.size() - 1);
  c.plan.budgets[tier] -= memory::kBlockAlignment;
  return c.plan.arena_bytes[tier] > 0;
}

bool cut_source(PlanCase& c) {
  if (c.plan.migrations.empty()) return false;
  const plan::Migration& m = c.random.pick(c.plan.migrations);
  plan::Residency& source = c.plan.residencies[as_index(m.from)];
  if (m.needed_by - 1 <= source.ops.begin || filled_after(c.plan, m.from, m.needed_by - 1)) return false;
  source.ops.end = m.needed_by - 1;
  return true;
}

bool copy_across_a_write(PlanCase& c) {
  for (plan::Migration& m : c.plan.migrations) {
    for (graph::OpIndex op = m.needed_by; op < c.plan.residencies[as_index(m.to)].ops.end; ++op) {
      if (!written_between(c, m.tensor, op, op + 1)) continue;
      m.needed_by = op + 1;
      return true;
    }
  }
  return false;
}

bool need_later_than_read(PlanCase& c) {
  for (const OperandUse& use : operand_uses(c)) {
    for (plan::Migration& m : c.plan.migrations) {
      if (use.writes || m.to != use.residency || m.needed_by > use.op) continue;
      if (written_between(c, m.tensor, m.issue_after + 1, use.op)) continue;
      m.needed_by = use.op + 1;
      return true;
    }
  }
  return false;
}

bool read_stale_copy(PlanCase& c) {
  for (const OperandUse& use : operand_uses(c)) {
    for (memory::TierId tier = 0; tier < as_id<memory::TierId>(c.machine.tiers.size()); ++tier) {
      const auto other = residency_at(c.plan, use.tensor, tier, use.op);
      if (tier == use.tier || use.writes || !other) continue;
      graph::OpIndex filled = -2;
      for (const plan::Migration& m : c.plan.migrations) {
        if (m.to == *other && m.issue_after < use.op) filled = std::max(filled, m.issue_after);
      }
      if (filled == -2 || !written_between(c, use.tensor, filled + 1, use.op)) continue;
      const auto uses = operand_uses(c);
      if (std::any_of(uses.begin(), uses.end(), [&](const auto& u) { return u.residency == *other && u.writes; })) {
        continue;
      }
      set_tensor_tier(c, use.op, use.tensor, tier);
      return true;
    }
  }
  return false;
}

// The residencies that close the cycle of a persistent tensor without being the one that began it.
std::vector<plan::ResidencyIndex> closing_residencies(const PlanCase& c) {
  std::vector<plan::ResidencyIndex> closing;
  const auto starts = plan::start_residencies(c.graph, c.plan);
  for (std::size_t i = 0; i < c.plan.residencies.size(); ++i) {
    const plan::Residency& r = c.plan.residencies[i];
    if (r.ops.end != c.graph.op_count() || starts[as_index(r.tensor)].empty()) continue;
    const plan::Residency& start = c.plan.residencies[as_index(starts[as_index(r.tensor)].front())];
    if (start.tier == r.tier && !(start == r)) closing.push_back(as_id<plan::ResidencyIndex>(i));
  }
  return closing;
}

bool drop_write_back(PlanCase& c) {
  for (const plan::ResidencyIndex closing : closing_residencies(c)) {
    const auto uses = operand_uses(c);
    if (std::any_of(uses.begin(), uses.end(), [&](const auto& u) { return u.residency == closing; })) continue;
    std::erase_if(c.plan.migrations, [&](const plan::Migration& m) { return m.to == closing; });
    return true;
  }
  return false;
}

bool end_elsewhere(PlanCase& c) {
  const auto closing = closing_residencies(c);
  if (closing.empty() || !c.plan.stitches.empty()) return false;
  c.plan.residencies[as_index(c.random.pick(closing))].offset += memory::kBlockAlignment;
  return true;
}

bool begin_twice(PlanCase& c) {
  for (graph::TensorId tensor = 0; tensor < c.graph.tensor_count(); ++tensor) {
    for (memory::TierId tier = 0; tier < as_id<memory::TierId>(c.machine.tiers.size()); ++tier) {
      if (!graph::is_persistent(c.graph.tensor(tensor).role) || residency_at(c.plan, tensor, tier, 0)) continue;
      c.plan.residencies.push_back({tensor, tier, 0, {0, 1}});
      return true;
    }
  }
  return false;
}

bool remove_link(PlanCase& c) {
  if (c.plan.migrations.empty()) return false;
  const plan::Migration& m = c.random.pick(c.plan.migrations);
  const memory::TierId from = c.plan.residencies[as_index(m.from)].tier, to = c.plan.residencies[as_index(m.to)].tier;
  std::erase_if(c.machine.links, [&](const memory::Link& link) { return link.from == from && link.to == to; });
  c.plan.machine_fingerprint = c.machine.fingerprint();
  return true;
}

// The encoded residencies, and with `encoded` false all others in slow tiers.
std::vector<plan::ResidencyIndex> slow_residencies(const PlanCase& c, bool encoded) {
  std::vector<plan::ResidencyIndex> found;
  for (std::size_t i = 0; i < c.plan.residencies.size(); ++i) {
    const plan::Residency& r = c.plan.residencies[i];
    if (r.tier != memory::kFastTier && r.encoded() == encoded) {
      found.push_back(as_id<plan::ResidencyIndex>(i));
    }
  }
  return found;
}

void encode(PlanCase& c, plan::ResidencyIndex residency) {
  plan::Residency& chosen = c.plan.residencies[as_index(residency)];
  chosen.encoding = plan::own_encoding(c.graph.tensor(chosen.tensor));
}

bool encode_as_another_kind(PlanCase& c) {
  const auto encoded = slow_residencies(c, true);
  if (encoded.empty()) return false;
  memory::Encoding& encoding = c.plan.residencies[as_index(c.random.pick(encoded))].encoding;
  encoding = encoding == memory::Encoding::kNarrow ? memory::Encoding::kZeroValue : memory::Encoding::kNarrow;
  return true;
}

bool encode_in_fast_tier(PlanCase& c) {
  const auto at = c.random.between<std::size_t>(0, c.plan.residencies.size() - 1);
  if (c.plan.residencies[at].tier != memory::kFastTier) return false;
  encode(c, as_id<plan::ResidencyIndex>(at));
  return true;
}

bool encode_what_an_op_uses(PlanCase& c) {
  std::vector<plan::ResidencyIndex> used;
  for (const OperandUse& use : operand_uses(c)) {
    if (use.tier != memory::kFastTier) used.push_back(use.residency);
  }
  if (used.empty()) return false;
  encode(c, c.random.pick(used));
  return true;
}

bool begin_encoded(PlanCase& c) {
  std::vector<plan::ResidencyIndex> beginnings;
  const auto starts = plan::start_residencies(c.graph, c.plan);
  for (const plan::ResidencyIndex i : slow_residencies(c, false)) {
    const auto& of_tensor = starts[as_index(c.plan.residencies[as_index(i)].tensor)];
    if (std::find(of_tensor.begin(), of_tensor.end(), i) != of_tensor.end()) beginnings.push_back(i);
  }
  if (beginnings.empty()) return false;
  encode(c, c.random.pick(beginnings));
  return true;
}

bool encode_between_slow_tiers(PlanCase& c) {
  for (const plan::Migration& m : c.plan.migrations) {
    const bool slow = c.plan.residencies[as_index(m.from)].tier != memory::kFastTier &&
                      c.plan.residencies[as_index(m.to)].tier != memory::kFastTier;
    if (!slow) continue;
    encode(c, c.random.chance(0.5) ? m.from : m.to);
    return true;
  }
  return false;
}

bool use_the_staging(PlanCase& c) {
  if (slow_residencies(c, true).empty()) return false;
  c.plan.arena_bytes[as_index(memory::kFastTier)] -= memory::kBlockAlignment;
  return true;
}

}  // namespace

std::vector<PlanMutation> plan_mutations() {
  return {
      {"MisalignOffset", plan::Rule::kWellFormed, misalign_offset},
      {"SwapIssueOrder", plan::Rule::kWellFormed, swap_issue_order},
      {"ChangeGraph", plan::Rule::kGraphMatches, change_graph},
      {"ChangeMachine", plan::Rule::kMachineMatches, change_machine},
      {"ShortenResidency", plan::Rule::kOperandResident, shorten_residency},
      {"DeleteOnlyFill", plan::Rule::kOperandResident, delete_only_fill},
      {"ExpectInWrongTier", plan::Rule::kOperandResident, expect_in_wrong_tier},
      {"ExpectInFile", plan::Rule::kTierAddressable, expect_in_file},
      {"ChooseNoImplementation", plan::Rule::kWellFormed, choose_no_implementation},
      {"ChooseNoProcessor", plan::Rule::kWellFormed, choose_no_processor},
      {"RunWhereOperandsAreOutOfReach", plan::Rule::kTierAddressable, run_where_operands_are_out_of_reach},
      {"ChooseALargerWorkspace", plan::Rule::kWithinBudget, choose_a_larger_workspace},
      {"ShiftOntoAnother", plan::Rule::kNoOverlap, shift_onto_another},
      {"StitchOntoAnother", plan::Rule::kNoOverlap, stitch_onto_another},
      {"StitchAPageTwice", plan::Rule::kWellFormed, stitch_a_page_twice},
      {"StitchBeyondTheArena", plan::Rule::kWellFormed, stitch_beyond_the_arena},
      {"StitchOnAddressesOfTheArena", plan::Rule::kWellFormed, stitch_on_addresses_of_the_arena},
      {"LieAcrossStitches", plan::Rule::kWellFormed, lie_across_stitches},
      {"ShrinkBudget", plan::Rule::kWithinBudget, shrink_budget},
      {"CutSource", plan::Rule::kSourceStaysValid, cut_source},
      {"CopyAcrossAWrite", plan::Rule::kSourceStaysValid, copy_across_a_write},
      {"NeedLaterThanRead", plan::Rule::kDestinationNotReadEarly, need_later_than_read},
      {"ReadStaleCopy", plan::Rule::kWriteInvalidates, read_stale_copy},
      {"DropWriteBack", plan::Rule::kCycleClosed, drop_write_back},
      {"EndElsewhere", plan::Rule::kCycleClosed, end_elsewhere},
      {"BeginTwice", plan::Rule::kCycleClosed, begin_twice},
      {"RemoveLink", plan::Rule::kLinkExists, remove_link},
      {"EncodeAsAnotherKind", plan::Rule::kEncodingAllowed, encode_as_another_kind},
      {"EncodeInFastTier", plan::Rule::kEncodingAllowed, encode_in_fast_tier},
      {"EncodeWhatAnOpUses", plan::Rule::kEncodingAllowed, encode_what_an_op_uses},
      {"BeginEncoded", plan::Rule::kEncodingAllowed, begin_encoded},
      {"EncodeBetweenSlowTiers", plan::Rule::kEncodingAllowed, encode_between_slow_tiers},
      {"UseTheStaging", plan::Rule::kWithinBudget, use_the_staging},
  };
}

}  // namespace sluice::testing
