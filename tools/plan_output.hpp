// How plans look on the terminal and in JSON results.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/report/describe_graph.hpp"
#include "sluice/sim/noise.hpp"

namespace sluice {

struct PlanTraffic {
  Bytes in = 0;  // per step, towards the fast tier
  Bytes out = 0;
};
PlanTraffic plan_traffic(const Graph& graph, const Plan& plan);

// Budgets, arenas, migrations and the prediction, one fact a line. `baseline`: the predicted step with everything in
// fast memory, where it is known.
std::string describe_plan(const Graph& graph, const Machine& machine, const Plan& plan,
                          std::optional<Seconds> baseline = std::nullopt);

// "what more would be worth, ..." and a fact a line; nothing where more is worth nothing.
std::string describe_worth(const Graph& graph, const Plan& plan, const Worth& worth);
nlohmann::json worth_json(const Graph& graph, const Plan& plan, const Worth& worth);

// "when each op varies by ..." and what the step takes then.
std::string describe_noise(const Noise& noise, const NoisyStep& step);
nlohmann::json noise_json(const Noise& noise, const NoisyStep& step);

nlohmann::json plan_summary_json(const Graph& graph, const Machine& machine, const Plan& plan,
                                 std::optional<Seconds> baseline = std::nullopt);

}  // namespace sluice
