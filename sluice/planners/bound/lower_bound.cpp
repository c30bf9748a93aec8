#include "sluice/planners/bound/lower_bound.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/id_vector.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/plan/plan_builder.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {
namespace {

// Bytes of non-persistent tensors made before op k and used at or after it, by k; each as few as may move of it.
IdVector<graph::OpIndex, Bytes> bytes_across(const graph::Graph& graph, const graph::Liveness& liveness,
                                             const profile::CostModel& costs, bool may_shrink) {
  IdVector<graph::OpIndex, Bytes> change(graph.ops().size() + 2, 0);
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const Interval<graph::OpIndex> range = liveness.ranges[id];
    if (graph::is_persistent(graph.tensor(id).role) || range.length() < 2) continue;
    const Bytes room = plan::room_for(graph.tensor(id), memory::kFastTier, false).bytes;
    const Bytes bytes = costs.moved_bytes({id, room, may_shrink});
    change[range.begin + 1] += bytes;
    change[range.end] -= bytes;
  }
  for (std::size_t k = 1; k < change.size(); ++k) change[k] += change[k - 1];
  return change;
}

// Bytes of persistent tensors used at op k or later, by k.
IdVector<graph::OpIndex, Bytes> persistent_bytes_from(const graph::Graph& graph, const graph::Liveness& liveness) {
  IdVector<graph::OpIndex, Bytes> bytes(graph.ops().size() + 1, 0);
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const auto& uses = liveness.uses[id];
    if (!graph::is_persistent(graph.tensor(id).role) || uses.empty()) continue;
    bytes[uses.back().op] += plan::room_for(graph.tensor(id), memory::kFastTier, false).bytes;
  }
  for (std::size_t k = bytes.size() - 1; k > 0; --k) bytes[k - 1] += bytes[k];
  return bytes;
}

// The compute time of the processor that has most of it.
Seconds longest_compute(const graph::Graph& graph, const profile::CostModel& costs) {
  std::vector<Seconds> of_processor(1, 0);
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    const auto processor = as_index(graph.op(op).processor);
    if (of_processor.size() <= processor) of_processor.resize(processor + 1, 0);
    of_processor[processor] += costs.op_seconds(op);
  }
  return std::ranges::max(of_processor);
}

// Of sums that the simulator makes in another order.
constexpr double kBoundBelowRounding = 1 - 1e-12;

Seconds exact_bound(const graph::Graph& graph, const profile::CostModel& costs, const memory::Machine& machine,
                    std::span<const Bytes> budgets, bool may_shrink) {
  const Seconds compute = longest_compute(graph, costs);
  const bool one_processor =
      std::ranges::all_of(graph.ops(), [](const graph::Op& op) { return op.processor == kMainProcessor; });
  if (!one_processor || machine.tiers.size() != 2 || machine.tier(1).addressable) return compute;
  const auto out = machine.link_between(memory::kFastTier, 1);
  const auto in = machine.link_between(1, memory::kFastTier);
  if (!out || !in) return compute;

  const graph::Liveness liveness = graph::analyze_liveness(graph);
  const IdVector<graph::OpIndex, Bytes> across = bytes_across(graph, liveness, costs, may_shrink);
  const IdVector<graph::OpIndex, Bytes> persistent = persistent_bytes_from(graph, liveness);
  const auto seconds = [&](Bytes bytes, memory::LinkId link) {
    return std::max(0.0, static_cast<double>(bytes - budgets[memory::kFastTier])) / machine.link(link).bandwidth;
  };
  Seconds bound = compute;
  Seconds before = 0;
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    const Bytes live = across[op];
    const Bytes needed = live + persistent[op];
    bound = std::max(bound, std::max(before, seconds(live, *out)) + std::max(compute - before, seconds(needed, *in)));
    before += costs.op_seconds(op);
  }
  return bound;
}

}  // namespace

Seconds step_lower_bound(const graph::Graph& graph, const profile::CostModel& costs, const memory::Machine& machine,
                         std::span<const Bytes> budgets, bool may_shrink) {
  return kBoundBelowRounding * exact_bound(graph, costs, machine, budgets, may_shrink);
}

}  // namespace sluice::planners
