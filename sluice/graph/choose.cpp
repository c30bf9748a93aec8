#include "sluice/graph/choose.hpp"

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"

namespace sluice::graph {

bool is_own_choice(const Graph& graph, std::span<const OpChoice> choices) {
  return std::ranges::equal(graph.ops(), choices, {}, [](const Op& op) { return OpChoice{0, op.processor}; });
}

void choose(Rescheduled& step, std::span<const OpChoice> choices) {
  Graph& graph = step.graph;
  SLUICE_CHECK(choices.size() == graph.ops().size(), "a choice for every slot");
  step.choices.assign(choices.begin(), choices.end());
  for (OpIndex slot = 0; slot < graph.op_count(); ++slot) {
    Op& op = graph.op(slot);
    op.processor = choices[as_index(slot)].processor;
    if (op.implementations.size() < 2) {
      SLUICE_CHECK(choices[as_index(slot)].implementation == 0, op.name + " has one implementation");
      continue;
    }
    Tensor& workspace = graph.tensor(op.outputs.back());
    SLUICE_CHECK(workspace.role == Role::kWorkspace, op.name + " has several implementations and a workspace");
    const Implementation chosen = op.implementations.at(as_index(choices[as_index(slot)].implementation));
    workspace.bytes = std::max(chosen.workspace_bytes, kLeastWorkspace);
    workspace.shape = {workspace.bytes};
    op.implementations = {chosen};
  }
}

Rescheduled chosen_step(const Graph& graph, std::span<const OpChoice> choices) {
  SLUICE_CHECK(choices.size() == graph.ops().size(), "a choice for every op");
  return chosen_step(graph, {}, choices);
}

Rescheduled chosen_step(const Graph& graph, std::span<const OpIndex> schedule, std::span<const OpChoice> choices) {
  std::vector<OpIndex> own_order(schedule.empty() ? graph.ops().size() : 0);
  std::iota(own_order.begin(), own_order.end(), 0);
  Rescheduled step = reschedule(graph, schedule.empty() ? own_order : schedule).value();
  if (choices.empty()) return step;
  std::vector<OpChoice> by_slot;
  for (const OpIndex op : step.op_of) by_slot.push_back(choices[as_index(op)]);
  choose(step, by_slot);
  return step;
}

}  // namespace sluice::graph
