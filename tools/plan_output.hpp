// How plans look on the terminal; report/step/plan_summary.hpp has the same as JSON.
#pragma once

#include <optional>
#include <string>

#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/report/describe_graph.hpp"
#include "sluice/sim/noise.hpp"

namespace sluice::cli {

// Budgets, arenas, migrations and the prediction, one fact a line. `baseline`: the predicted step with everything in
// fast memory, where it is known.
std::string describe_plan(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan,
                          std::optional<Seconds> baseline = std::nullopt);

// "what more would be worth, ..." and a fact a line; nothing where more is worth nothing.
std::string describe_worth(const graph::Graph& graph, const plan::Plan& plan, const planners::Worth& worth);

// "when each op varies by ..." and what the step takes then.
std::string describe_noise(const sim::Noise& noise, const sim::NoisyStep& step);

}  // namespace sluice::cli
