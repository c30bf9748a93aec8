#include "sluice/exec/policy/address_space.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::exec {
namespace {

// Pages that operands share count once.
Bytes pages_at_once(const std::vector<policies::Access>& accesses, Bytes page_bytes) {
  std::vector<Interval<Bytes>> pages;
  for (const policies::Access& access : accesses) {
    pages.push_back({align_down(access.bytes.begin, page_bytes), align_up(access.bytes.end, page_bytes)});
  }
  std::ranges::sort(pages);
  Bytes sum = 0, end = 0;
  for (const Interval<Bytes>& range : pages) {
    sum += std::max<Bytes>(0, range.end - std::max(range.begin, end));
    end = std::max(end, range.end);
  }
  return sum;
}

}  // namespace

SpaceProgram in_address_space(program::Program program, const graph::Graph& graph, const layout::PageLayout& layout,
                              const memory::Machine& machine, Bytes page_bytes) {
  const auto place = [&](graph::TensorId tensor) {
    return program::Location{memory::kFastTier, std::max<Bytes>(0, layout.offsets[tensor])};
  };
  for (program::ComputeInstruction& instruction : program.compute) {
    const graph::Op& op = graph.op(instruction.op);
    std::vector<program::Location> operands;
    for (const auto* tensors : {&op.inputs, &op.outputs}) {
      for (const graph::TensorId tensor : *tensors) operands.push_back(place(tensor));
    }
    instruction.operands = std::move(operands);
  }
  for (std::size_t id = 0; id < program.step_start.size(); ++id) {
    program.step_start[id] = place(as_id<graph::TensorId>(id));
  }
  const Bytes space = align_up(layout.bytes, std::max(page_bytes, memory::kBlockAlignment));
  program.arena_bytes.assign(machine.tiers.size(), 0);
  for (std::size_t tier = 0; tier < machine.tiers.size(); ++tier) {
    if (tier == memory::kFastTier || machine.tiers[tier].kind->in_file) program.arena_bytes[tier] = space;
  }
  SpaceProgram made{std::move(program), machine};
  made.machine.tiers[memory::kFastTier].kind = memory::TierKind::kDram;
  return made;
}

Status check_ops_fit(const graph::Graph& graph, const policies::StepAccesses& accesses,
                     const policies::ChosenPages& chosen) {
  if (chosen.entry->pages->addressable) return {};
  const Bytes page = chosen.tuning.page_bytes;
  const Bytes room = align_down(chosen.fast_bytes, page);
  Bytes most = 0;
  graph::OpIndex neediest = 0;
  for (std::size_t op = 0; op < accesses.ops.size(); ++op) {
    const Bytes bytes = pages_at_once(accesses.ops[op], page);
    if (bytes > most) neediest = as_id<graph::OpIndex>(op);
    most = std::max(most, bytes);
  }
  if (most <= room) return {};
  return Error{
      ErrorCode::kInfeasible,
      fmt::format("op {} uses {} at once in pages of {}, and policy {} has {} of fast memory: raise --fast, or "
                  "take smaller pages ({}:page=4KiB)",
                  graph.op(neediest).name, format_bytes(most), format_bytes(page), chosen.entry->name,
                  format_bytes(room), chosen.entry->name),
      most, room};
}

}  // namespace sluice::exec
