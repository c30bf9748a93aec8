// How plans look on the terminal and in JSON results.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice {

struct PlanTraffic {
  Bytes in = 0;  // per step, towards the fast tier
  Bytes out = 0;
};
PlanTraffic plan_traffic(const Graph& graph, const Plan& plan);

// "resnet50, images [16, 3, 224, 224], labels [16] of 1000: 412 ops, 630 tensors, 2.05 GiB in all"
std::string describe_graph(const Graph& graph);

// Budgets, arenas, migrations and the prediction, one fact a line. `baseline`: the predicted step with everything in
// fast memory, where it is known.
std::string describe_plan(const Graph& graph, const Machine& machine, const Plan& plan,
                          std::optional<Seconds> baseline = std::nullopt);

nlohmann::json plan_summary_json(const Graph& graph, const Machine& machine, const Plan& plan,
                                 std::optional<Seconds> baseline = std::nullopt);

}  // namespace sluice
