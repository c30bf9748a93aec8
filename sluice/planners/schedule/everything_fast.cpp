#include "sluice/planners/schedule/everything_fast.hpp"

#include "sluice/graph/liveness.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"

namespace sluice::planners {

plan::PlanBuilder everything_fast(const graph::Graph& graph, const memory::Machine& machine) {
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  plan::PlanBuilder builder(graph, machine);
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    add_tensor_schedule(builder, graph, liveness, id, memory::kFastTier,
                        always_fast(liveness, id, graph::is_persistent(graph.tensor(id).role)));
  }
  return builder;
}

Bytes fast_only_bytes(const graph::Graph& graph) {
  memory::Machine machine;
  machine.tiers.push_back({.name = "fast", .capacity = Bytes{1} << 62});
  const std::vector<Bytes> endless{machine.tiers.front().capacity};
  return everything_fast(graph, machine).finish(endless).value().arena_bytes.front();
}

}  // namespace sluice::planners
