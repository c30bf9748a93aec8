#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"
#include "sluice/planners/autotm/placement.hpp"
#include "sluice/planners/implementations.hpp"

namespace sluice::planners {
namespace {

Bytes workspace_room(const graph::Implementation& implementation) {
  return align_up(std::max(implementation.workspace_bytes, graph::kLeastWorkspace), memory::kBlockAlignment);
}

// One that takes as much room as the first and is not clearly faster is nothing to choose. One that takes less is not
// faster either where measurements differ as much.
std::vector<Alternative> alternatives_of(const graph::Op& op, graph::OpIndex index, const profile::Profile& profile) {
  const Seconds first = profile.op_seconds[index];
  std::vector<Alternative> all{{0, 0, workspace_room(op.implementations.front())}};
  for (std::int32_t i = 1; i < static_cast<std::int32_t>(op.implementations.size()); ++i) {
    const auto times = profile.choices.find({i, kMainProcessor});
    if (times == profile.choices.end()) continue;
    const Bytes bytes = workspace_room(op.implementations[as_index(i)]);
    const Seconds seconds = times->second->warm[index];
    const bool faster = seconds < kClearlyFasterKernel * first;
    if (!faster && bytes >= all.front().more_bytes) continue;
    all.push_back({i, faster ? seconds - first : std::max(0.0, seconds - first), bytes});
  }
  std::ranges::stable_sort(all, {}, &Alternative::more_bytes);
  return all.size() > 1 ? all : std::vector<Alternative>{};
}

}  // namespace

void add_alternatives(PlacementProblem& problem, const profile::Profile& profile) {
  problem.alternatives.resize(problem.graph.ops().size());
  for (MovingUnit& unit : problem.units) {
    const bool workspace =
        unit.tensors.size() == 1 && problem.graph.tensor(unit.tensors.front()).role == graph::Role::kWorkspace;
    if (!workspace || unit.uses.empty()) continue;
    const graph::OpIndex index = unit.uses.front().op;
    const graph::Op& op = problem.graph.op(index);
    if (op.implementations.size() < 2 || op.processor != kMainProcessor) continue;
    std::vector<Alternative> all = alternatives_of(op, index, profile);
    if (all.empty()) continue;
    unit.may_move = unit.short_lived = false;
    unit.kept_bytes = unit.moved_bytes = all.front().more_bytes;
    for (Alternative& each : all) each.more_bytes -= unit.kept_bytes;
    problem.alternatives[index] = std::move(all);
  }
}

std::vector<graph::OpChoice> choices_of(const PlacementProblem& problem, const PlacedStep& placed) {
  std::vector<graph::OpChoice> choices;
  for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) {
    const bool chosen = !problem.alternatives.empty() && !problem.alternatives[op].empty();
    choices.push_back({chosen ? problem.alternatives[op][placed.alternative_of[op]].implementation : 0,
                       problem.graph.op(op).processor});
  }
  return choices;
}

}  // namespace sluice::planners
