// A small step with all that an optimizer keeps, and a device whose host runs the optimizer.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/base/check.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/memory/processors.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/make_plan.hpp"

namespace sluice::testing {

// Of `depth` products a layer.
inline graph::Graph offload_network(graph::Precision precision, const graph::OptimizerOptions& optimizer, int depth = 1,
                                    std::int64_t batch = 4) {
  graph::GraphBuilder builder("net");
  builder.begin_layer("input");
  graph::TensorId x = builder.input(batch, 64, 1, 1, 32);
  x = builder.reshape(x, {batch, 64});
  for (const char* name : {"first", "second", "third"}) {
    builder.begin_layer(name);
    for (int i = 0; i < depth; ++i) x = builder.relu(builder.dense(x, 64, false));
  }
  builder.begin_layer("head");
  builder.softmax_cross_entropy(builder.dense(x, 32, false));
  return graph::prepare_training_graph(std::move(builder.finish()).value(), optimizer, precision);
}
inline graph::Graph offload_network(graph::Precision precision, graph::Optimizer optimizer, int depth = 1,
                                    std::int64_t batch = 4) {
  return offload_network(precision, graph::OptimizerOptions{.optimizer = optimizer}, depth, batch);
}

inline constexpr Bytes kElements = 3 * 64 * 64 + 32 * 64;  // "M"

struct OffloadProblem {
  graph::Graph graph;
  memory::Machine machine = memory::make_machine({.threads = 1, .slow = {{"pcie3", kGiB}}}).value();
  profile::Profile profile;

  explicit OffloadProblem(graph::Precision precision, graph::Optimizer optimizer = graph::Optimizer::kAdam)
      : OffloadProblem(offload_network(precision, optimizer)) {}
  explicit OffloadProblem(graph::Graph step) : graph(std::move(step)) {
    const Status added = memory::add_processors({{"device", 1, {}}, {"host", 1, {"pcie3"}}}, machine);
    SLUICE_CHECK(added.ok(), added.error().message);
    profile.op_seconds.assign(graph.ops().size(), 1e-4);
  }

  Result<plan::Plan> plan(Bytes fast, std::string_view planner = "zero-offload") const {
    return planners::make_plan(planner, request(fast));
  }
  planners::PlanRequest request(Bytes fast) const {
    return {.graph = graph, .profile = profile, .machine = machine, .budgets = {fast, kGiB}};
  }
};

inline std::string config_of(const plan::Plan& plan, const std::string& name) {
  const auto found = std::ranges::find(plan.planner_config, name, &std::pair<std::string, std::string>::first);
  return found == plan.planner_config.end() ? "" : found->second;
}

}  // namespace sluice::testing
