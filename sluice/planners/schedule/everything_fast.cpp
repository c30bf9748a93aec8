#include "sluice/planners/schedule/everything_fast.hpp"

#include "sluice/graph/liveness.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"

namespace sluice {

PlanBuilder everything_fast(const Graph& graph, const Machine& machine) {
  const Liveness liveness = analyze_liveness(graph);
  PlanBuilder builder(graph, machine);
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    add_tensor_schedule(builder, graph, liveness, id, kFastTier,
                        always_fast(liveness, id, is_persistent(graph.tensor(id).role)));
  }
  return builder;
}

Bytes fast_only_bytes(const Graph& graph) {
  Machine machine;
  machine.tiers.push_back({.name = "fast", .capacity = Bytes{1} << 62});
  const std::vector<Bytes> endless{machine.tiers.front().capacity};
  return everything_fast(graph, machine).finish(endless).value().arena_bytes.front();
}

}  // namespace sluice
