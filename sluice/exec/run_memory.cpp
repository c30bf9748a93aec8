#include "sluice/exec/run_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/gpu/gpu_memory.hpp"

namespace sluice::exec {
namespace {

constexpr const char* kOpaqueLayout = "opaque";  // what layouts without a name of their own are all called

Status check_budget(const memory::Machine& machine, const program::Program& program, std::span<const Bytes> budgets) {
  for (std::size_t tier = 0; tier < program.arena_bytes.size(); ++tier) {
    const Bytes budget = tier < budgets.size() ? budgets[tier] : 0;
    if (program.arena_bytes[tier] <= budget) continue;
    return Error{
        ErrorCode::kInfeasible,
        fmt::format("the plan needs {} of tier {} and the budget is {}: plan again for this budget",
                    format_bytes(program.arena_bytes[tier]), machine.tiers.at(tier).name, format_bytes(budget))};
  }
  return {};
}

// Slow tiers get what the plan uses, not their whole budget: a spill file is written out when it is made.
std::vector<Bytes> arenas_of(const NextProgram& next) {
  std::vector<Bytes> arenas = next.program.arena_bytes;
  if (next.program.stitches.empty()) arenas.at(memory::kFastTier) = next.budgets[memory::kFastTier];
  return arenas;
}

bool same_bytes(const graph::Tensor& a, const graph::Tensor& b) {
  return a.shape == b.shape && a.dtype == b.dtype && a.bytes == b.bytes && a.layout == b.layout &&
         a.layout != kOpaqueLayout && a.whole == b.whole && a.part == b.part;
}

std::map<std::string, graph::TensorId> persistent_by_name(const graph::Graph& graph) {
  std::map<std::string, graph::TensorId> found;
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (graph::is_persistent(graph.tensor(id).role)) found.emplace(graph.tensor(id).name, id);
  }
  return found;
}

}  // namespace

std::vector<graph::TensorId> RunMemory::held() const {
  std::vector<graph::TensorId> found;
  for (std::size_t id = 0; id < held_.size(); ++id) {
    if (held_[id]) found.push_back(as_id<graph::TensorId>(id));
  }
  return found;
}

RunMemory::Carried RunMemory::carried_to(const NextProgram& next) const {
  const std::vector<bool> kept = storages_.kept(arenas_of(next), next.program.stitches);
  const std::map<std::string, graph::TensorId> by_name = persistent_by_name(next.graph);
  Carried wanted;
  for (const graph::TensorId id : held()) {
    const graph::Tensor& tensor = compiled_->graph().tensor(id);
    const program::Location& from = places_[as_index(id)];
    const auto same = by_name.find(tensor.name);
    if (same == by_name.end() || !kept[as_index(from.tier)]) continue;
    if (!same_bytes(tensor, next.graph.tensor(same->second))) continue;
    wanted.from.push_back(id);
    wanted.to.push_back(same->second);
    wanted.moves.push_back({from, next.program.step_start[as_index(same->second)], tensor.bytes});
  }
  Carried carried;
  for (const std::size_t move : order_moves(wanted.moves)) {
    carried.from.push_back(wanted.from[move]);
    carried.to.push_back(wanted.to[move]);
    carried.moves.push_back(wanted.moves[move]);
  }
  return carried;
}

std::vector<graph::TensorId> RunMemory::not_carried(const NextProgram& next) const {
  std::vector<graph::TensorId> carried = carried_to(next).from, left;
  std::ranges::sort(carried);
  std::ranges::set_difference(held(), carried, std::back_inserter(left));
  return left;
}

Status RunMemory::change_to(std::shared_ptr<kernels::CompiledGraph> compiled, const NextProgram& next) {
  SLUICE_RETURN_IF_ERROR(usable_);
  SLUICE_RETURN_IF_ERROR(check_budget(machine_, next.program, next.budgets));
  const Carried carried = carried_to(next);
  held_.assign(held_.size(), false);
  for (const graph::TensorId id : carried.from) held_[as_index(id)] = true;
  const bool on_device = !machine_.tier(memory::kFastTier).kind->host_reaches;
  SLUICE_RETURN_IF_ERROR(
      storages_.change(machine_, arenas_of(next), next.program.stitches, on_device ? &gpu::kGpuMemory : nullptr));
  if (const Status moved = perform_moves(machine_, storages_, carried.moves); !moved.ok()) {
    spoil({moved.error().code, "tensors between two programs were lost: " + moved.error().message});
    return usable_;
  }
  compiled_ = std::move(compiled);
  places_ = next.program.step_start;
  held_.assign(places_.size(), false);
  for (const graph::TensorId id : carried.to) held_[as_index(id)] = true;
  return {};
}

Status RunMemory::read_tensor(graph::TensorId tensor, std::span<std::byte> bytes) {
  SLUICE_RETURN_IF_ERROR(usable_);
  const program::Location& at = place_of(tensor, bytes.size());
  return storages_.read(at.tier, at.offset, bytes);
}

Status RunMemory::write_tensor(graph::TensorId tensor, std::span<const std::byte> bytes) {
  SLUICE_RETURN_IF_ERROR(usable_);
  const program::Location& at = place_of(tensor, bytes.size());
  SLUICE_RETURN_IF_ERROR(storages_.write(at.tier, at.offset, bytes));
  if (graph::is_persistent(compiled_->graph().tensor(tensor).role)) held_[as_index(tensor)] = true;
  return {};
}

const program::Location& RunMemory::place_of(graph::TensorId tensor, std::size_t bytes) const {
  const graph::Tensor& description = compiled_->graph().tensor(tensor);
  SLUICE_CHECK(graph::is_persistent(description.role) || description.role == graph::Role::kOutput,
               description.name + " is nowhere between steps: neither persistent nor an output");
  SLUICE_CHECK(static_cast<Bytes>(bytes) == description.bytes, "a buffer of the size of " + description.name);
  return places_[as_index(tensor)];
}

std::shared_ptr<kernels::CompiledGraph> kept_elsewhere(kernels::CompiledGraph& compiled) {
  return {std::shared_ptr<void>(), &compiled};
}

}  // namespace sluice::exec
