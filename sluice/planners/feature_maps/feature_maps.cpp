#include "sluice/planners/feature_maps/feature_maps.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/rematerialization.hpp"

namespace sluice::planners {

namespace {

std::vector<graph::OpIndex> ops_without_repetitions(const PlanRequest& request) {
  std::vector<bool> left_out(request.graph.ops().size(), false);
  for (const graph::Repetition& each : graph::repetitions(request.graph)) left_out[as_index(each.op)] = true;
  std::vector<graph::OpIndex> schedule;
  for (graph::OpIndex op = 0; op < request.graph.op_count(); ++op) {
    if (!left_out[as_index(op)]) schedule.push_back(op);
  }
  return schedule;
}

}  // namespace

Result<plan::Plan> plan_without_repetitions(const PlanRequest& request,
                                            Result<plan::Plan> (*plan)(const PlanRequest&)) {
  const RescheduledRequest step(request, ops_without_repetitions(request));
  SLUICE_ASSIGN(plan::Plan made, plan(step.request()));
  return step.for_given_graph(std::move(made));
}

Result<std::unique_ptr<PlanSearch>> search_without_repetitions(const PlanRequest& request, StartSearch start) {
  auto step = std::make_shared<const RescheduledRequest>(request, ops_without_repetitions(request));
  SLUICE_ASSIGN(auto search, start(step->request()));
  return std::unique_ptr<PlanSearch>(std::make_unique<RescheduledSearch>(std::move(step), std::move(search)));
}

std::vector<FeatureMap> find_feature_maps(const graph::Graph& graph, const graph::Liveness& liveness) {
  const auto turn = as_id<graph::OpIndex>(
      std::ranges::find_if(graph.ops(), [](const graph::Op& op) { return op.phase != graph::Phase::kForward; }) -
      graph.ops().begin());
  std::vector<FeatureMap> maps;
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const std::vector<graph::Use>& uses = liveness.uses[id];
    const graph::Role role = graph.tensor(id).role;
    const auto behind = std::ranges::find_if(uses, [&](const graph::Use& use) { return use.op >= turn; });
    if (behind == uses.begin() || behind == uses.end() || !behind->reads) continue;
    if (graph::is_persistent(role) || role == graph::Role::kOutput) continue;
    FeatureMap map{.tensor = id, .last_forward_use = (behind - 1)->op, .first_backward_use = behind->op};
    for (auto use = uses.begin(); use != behind; ++use) map.writer = use->writes ? use->op : map.writer;
    map.can_be_rematerialized = can_be_rematerialized(graph, {map.writer, id});
    maps.push_back(map);
  }
  std::ranges::stable_sort(maps, {}, &FeatureMap::writer);
  return maps;
}

}  // namespace sluice::planners
