// A plan and its predicted step as JSON: what `sluice plan`, `simulate`, `train` and `report` write of them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "sluice/experiment/step_prediction.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/policies/run.hpp"
#include "sluice/report/bound_note.hpp"
#include "sluice/sim/noise.hpp"

namespace sluice::report {

struct PlanTraffic {
  Bytes in = 0;   // per step, towards the fast tier
  Bytes out = 0;  // away from it; what moves between slow tiers is neither
};
PlanTraffic plan_traffic(const graph::Graph& graph, const plan::Plan& plan);

// How a plan's schedule differs from the graph's own order.
struct ScheduleCounts {
  std::int64_t left_out = 0;  // ops: what they make again is kept instead
  std::int64_t later = 0;     // ops that run later than in the graph's order
  std::int64_t again = 0;     // executions beyond the first of an op
};
ScheduleCounts count_schedule(const graph::Graph& graph, const plan::Plan& plan);

// Against the predicted step with everything in fast memory, where that is known.
std::optional<Loss> predicted_loss(const plan::Plan& plan, std::optional<Seconds> baseline);

// Who made the plan, budgets, arenas, what is moved, the prediction and its bounds.
// Under a policy, of the plan that comes with it.
nlohmann::json plan_summary_json(const graph::Graph& graph, const memory::Machine& machine, const policies::Run& run,
                                 std::optional<Seconds> baseline = std::nullopt);

nlohmann::json worth_json(const graph::Graph& graph, const plan::Plan& plan, const planners::Worth& worth);
nlohmann::json noise_json(const sim::Noise& noise, const sim::NoisyStep& step);

// {"predicted_ms", "stall_ms", "locality", "parts_ms": null where a policy decides}: of the step that a plan runs, or of
// the last one simulated of a policy.
nlohmann::json prediction_json(const experiment::StepPrediction& prediction);

}  // namespace sluice::report
