// superneurons (Wang, Ye, Zhao, Wu, Li, Song, Xu, Kraska, PPoPP 2018, as HOME section 4.1 describes it): what
// convolutions make is swapped, asynchronously; what pooling, activations and norms make is made again, since that takes
// little time. A rule for each type of layer, whatever the network and the budget.
//
// Ours: additions of residual branches, which the description does not name, are made again like activations, with which
// they are one op.
#include <algorithm>
#include <array>

#include "sluice/planners/feature_maps/feature_maps.hpp"

namespace sluice::planners {
namespace {

constexpr std::array kCheapKinds{graph::OpKind::kMaxPool, graph::OpKind::kAvgPool,   graph::OpKind::kRelu,
                                 graph::OpKind::kUnary,   graph::OpKind::kBatchNorm, graph::OpKind::kBatchNormApply,
                                 graph::OpKind::kAdd};

FeatureMapAction action_by_type(const graph::Graph& graph, const FeatureMap& map) {
  const graph::OpKind kind = graph.op(map.writer).kind;
  if (kind == graph::OpKind::kConv2d) return FeatureMapAction::kSwap;
  const bool cheap = std::ranges::find(kCheapKinds, kind) != kCheapKinds.end();
  return cheap && map.can_be_rematerialized ? FeatureMapAction::kRecompute : FeatureMapAction::kKeep;
}

Result<plan::Plan> plan_superneurons(const PlanRequest& request) {
  FeatureMapPlan wanted{.planner = "superneurons",
                        .maps = find_feature_maps(request.graph, graph::analyze_liveness(request.graph))};
  for (const FeatureMap& map : wanted.maps) wanted.actions.push_back(action_by_type(request.graph, map));
  return plan_actions(request, wanted);
}

}  // namespace

PlannerEntry superneurons_planner() {
  return {.name = "superneurons",
          .summary = "convolutions swapped, cheap layers made again (Wang et al. 2018)",
          .plan = [](const PlanRequest& request) { return plan_without_repetitions(request, plan_superneurons); },
          .traits = {.moves = true, .recomputes = true},
          .keeps_short_lived_fast = true};
}

}  // namespace sluice::planners
