// Feature maps, and plans that do one of three things with each: keep it in the fast tier, swap it out between its last
// use in the forward pass and its first one in the backward pass, or forget it and make it again (HOME section 3.3).
// Planners that think in these decide actions, and leave to plan_actions() what follows from them.
//
//   forward    conv1 > a    conv2 a > b    conv3 b > c ...     a: read last by conv2, first again by conv2'
//   backward   ... conv3' b    conv2' a    conv1'
//
// Everything else, parameters and gradients too, stays in the fast tier for as long as it lives.
#pragma once

#include <string_view>
#include <vector>

#include "sluice/graph/liveness.hpp"
#include "sluice/planners/planner.hpp"

namespace sluice::planners {

// Plans the step without what its graph makes again by itself, which is for these planners to decide.
Result<plan::Plan> plan_without_repetitions(const PlanRequest& request, Result<plan::Plan> (*plan)(const PlanRequest&));

// The same for a search, of plans for the request's graph.
using StartSearch = Result<std::unique_ptr<PlanSearch>> (*)(const PlanRequest&);
Result<std::unique_ptr<PlanSearch>> search_without_repetitions(const PlanRequest& request, StartSearch start);

struct FeatureMap {
  graph::TensorId tensor = 0;
  graph::OpIndex writer = 0;              // of the value that the backward pass reads
  graph::OpIndex last_forward_use = 0;    // a writer's is the writer
  graph::OpIndex first_backward_use = 0;  // it reads
  bool can_be_rematerialized = false;
};

// What the forward pass writes and the backward pass reads, by writer.
std::vector<FeatureMap> find_feature_maps(const graph::Graph& graph, const graph::Liveness& liveness);

enum class FeatureMapAction { kKeep, kSwap, kRecompute };

enum class SwapPace {
  // It leaves beside the op that reads it last and comes beside the layer before the one that reads it, and compute waits
  // at the end of either.
  kByLayer,
  // It leaves when it was read last, and comes from the beginning of the layer before the one that reads it; only who
  // reads it waits, and ops that find no room (swap_schedules.hpp).
  kAsynchronous,
};

struct FeatureMapPlan {
  std::string_view planner;
  std::vector<FeatureMap> maps;           // of the request's graph
  std::vector<FeatureMapAction> actions;  // by map
  SwapPace pace = SwapPace::kAsynchronous;
  // By map: how much earlier it comes back than the layer before its reader's begins, by the clock; empty: no earlier.
  // Not by layer.
  std::vector<Seconds> ahead = {};
};

// kInfeasible or kNoneFound where that does not pack into the budgets, kUnsupported where a map is to be made again that
// nothing can make again, kBadInput where a map is to be swapped and there is no slow tier.
Result<plan::Plan> plan_actions(const PlanRequest& request, const FeatureMapPlan& wanted);

}  // namespace sluice::planners
