#include "sluice/planners/bound/step_to_bound.hpp"

#include "sluice/base/as_index.hpp"
#include "sluice/planners/bound/in_place_costs.hpp"

namespace sluice::planners {

StepToBound::StepToBound(const graph::Graph& graph, const profile::CostModel& costs, const memory::Machine& machine,
                         const TwoTiers& tiers, bool may_shrink)
    : step{graph, op_seconds, tiers.link, tiers.fast, moved_share} {
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) op_seconds.push_back(costs.op_seconds(op));
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const graph::Tensor& tensor = graph.tensor(id);
    const Bytes moved = costs.moved_bytes({id, tensor.bytes, may_shrink});
    moved_share.push_back(moved < tensor.bytes ? static_cast<double>(moved) / static_cast<double>(tensor.bytes) : 1);
  }
  if (tiers.in_place) in_place = in_place_costs(graph, costs, machine);
  step.op_seconds = op_seconds;
  step.moved_share = moved_share;
  step.in_place = in_place;
}

}  // namespace sluice::planners
