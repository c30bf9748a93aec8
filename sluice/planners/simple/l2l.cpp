// l2l (Pudipeddi, Mesmakhosroshahi, Xi, Bharadwaj, "Training Large Neural Networks with Constant Memory using a New
// Execution Algorithm", 2020), as DyNN-Offload and ZeRO-Offload describe it: one layer at a time. What a layer uses is
// brought before it begins, and what the next one does not use is sent back before that begins; compute waits for both.
//
//   layers        | conv1 forward | conv2 forward |  ...  | conv2 backward, update | conv1 backward, update |
//   weights of 2           in ----|---------------| out          in ---------------| out: updated
//   output of 1          |made ---|---------------| out          in ---------------| dead
//
//   l2l               parameters, optimizer states and activations
//   l2l:stash=0       parameters and optimizer states; activations stay
//
// A layer is a span of ops of one layer and one direction (graph/liveness.hpp), with its updates where the graph has
// them behind it. What it decides does not depend on the budget: it fits or it does not.
//
// Cost: linear in uses, and the packing. docs/planners/l2l.md says what is the paper's and what is ours.
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/leaving_tiers.hpp"

namespace sluice::planners {
namespace {

struct L2lConfig {
  bool stash = true;
};

const Settings& l2l_settings() {
  static const Settings all{
      L2lConfig{},
      {setting<&L2lConfig::stash>({"stash", "1: activations leave with their layer, 0: they stay", "the paper's"})}};
  return all;
}

class LayerByLayer {
 public:
  LayerByLayer(const graph::Graph& graph, const graph::Liveness& liveness, bool stash)
      : graph_(graph), liveness_(liveness), stash_(stash) {}

  TensorSchedule schedule(graph::TensorId id) const {
    const graph::Tensor& tensor = graph_.tensor(id);
    const bool persistent = graph::is_persistent(tensor.role);
    const bool stays = !persistent && (!stash_ || liveness_.short_lived[id] || tensor.role == graph::Role::kOutput);
    if (stays || liveness_.uses[id].empty()) return always_fast(liveness_, id, persistent);
    TensorSchedule result{.fast_at_start = false, .pieces = {}};
    int last_layer = -2;
    for (const graph::Use& use : liveness_.uses[id]) {
      const int layer = liveness_.span_of_op[use.op];
      const bool made = result.pieces.empty() && !persistent;
      if (layer > last_layer + 1) result.pieces.push_back(comes_for(use.op, made));
      last_layer = layer;
      stay_for(result.pieces.back(), use.op);
    }
    if (!persistent) result.pieces.back().ops.end = result.pieces.back().last_use + 1;
    return result;
  }

 private:
  Interval<graph::OpIndex> layer_of(graph::OpIndex op) const { return liveness_.spans[liveness_.span_of_op[op]].ops; }

  FastPiece comes_for(graph::OpIndex use, bool made) const {
    const graph::OpIndex begin = made ? use : layer_of(use).begin;
    return {.ops = {begin, begin},
            .first_use = use,
            .last_use = use,
            .evict_after = use,
            .here_by = begin,
            .comes = plan::Cause::kNextLayer,
            .leaves = plan::Cause::kLayerIsOver};
  }

  void stay_for(FastPiece& piece, graph::OpIndex use) const {
    piece.last_use = use;
    piece.ops.end = layer_of(use).end;
    piece.evict_after = piece.ops.end - 1;
  }

  const graph::Graph& graph_;
  const graph::Liveness& liveness_;
  bool stash_;
};

Result<plan::Plan> plan_l2l(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("l2l", request.machine));
  const bool stash = config_of<L2lConfig>(request).stash;
  const graph::Graph& graph = request.graph;
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  const LayerByLayer layers(graph, liveness, stash);
  IdVector<graph::TensorId, TensorSchedule> schedules;
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) schedules.push_back(layers.schedule(id));
  plan::PlanBuilder builder(graph, request.machine);
  add_tensor_schedules(builder, graph, liveness, schedules, SlowRooms(slow, graph.op_count(), request.budgets));
  return builder.finish(request.budgets, nullptr, request.draft ? memory::kPortfolioAlone : memory::kPackingEffort);
}

}  // namespace

PlannerEntry l2l_planner() {
  return {.name = "l2l",
          .summary = "one layer at a time, brought and sent back while compute waits (Pudipeddi et al. 2020)",
          .plan = plan_l2l,
          .traits = {.moves = true, .all_tensors = true, .several_tiers = true},
          .keeps_short_lived_fast = true,
          .settings = l2l_settings()};
}

}  // namespace sluice::planners
