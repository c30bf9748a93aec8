// vdnn (Rhu, Gimelshein, Clemons, Zulfiqar, Keckler, MICRO 2016, as HOME section 4.1 and Sentinel section VII-C describe
// it): inputs of convolutions leave in the forward pass and come back in the backward pass, layer by layer. A layer is
// over when its copy is.
//
//   vdnn          inputs of convolutions
//   vdnn:all=1    all feature maps
//
// What it decides does not depend on the budget: it fits or it does not.
#include <algorithm>

#include "sluice/planners/feature_maps/feature_maps.hpp"

namespace sluice::planners {
namespace {

struct VdnnConfig {
  bool all = false;
};

const Settings& vdnn_settings() {
  static const Settings all{
      VdnnConfig{},
      {setting<&VdnnConfig::all>({"all", "1: all feature maps, 0: inputs of convolutions", "HOME, section 4.1"})}};
  return all;
}

bool is_input_of_convolution(const graph::Graph& graph, const FeatureMap& map) {
  return std::ranges::any_of(graph.ops(), [&](const graph::Op& op) {
    return op.kind == graph::OpKind::kConv2d && op.phase == graph::Phase::kForward && op.inputs.front() == map.tensor;
  });
}

Result<plan::Plan> plan_vdnn(const PlanRequest& request) {
  const bool all = config_of<VdnnConfig>(request).all;
  FeatureMapPlan wanted{.planner = "vdnn",
                        .maps = find_feature_maps(request.graph, graph::analyze_liveness(request.graph)),
                        .pace = SwapPace::kByLayer};
  for (const FeatureMap& map : wanted.maps) {
    const bool swaps = all || is_input_of_convolution(request.graph, map);
    wanted.actions.push_back(swaps ? FeatureMapAction::kSwap : FeatureMapAction::kKeep);
  }
  return plan_actions(request, wanted);
}

}  // namespace

PlannerEntry vdnn_planner() {
  return {.name = "vdnn",
          .summary = "inputs of convolutions swapped, layer by layer (Rhu et al. 2016)",
          .plan = [](const PlanRequest& request) { return plan_without_repetitions(request, plan_vdnn); },
          .traits = {.moves = true},
          .keeps_short_lived_fast = true,
          .settings = vdnn_settings()};
}

}  // namespace sluice::planners
