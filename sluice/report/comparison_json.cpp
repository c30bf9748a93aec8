#include "sluice/report/comparison_json.hpp"

#include "sluice/data/input_tensors.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/report/bound_note.hpp"
#include "sluice/report/plan_changes.hpp"
#include "sluice/report/run_record.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;

json milliseconds(const Spread& spread) {
  return {{"median", spread.median * 1e3},
          {"q1", spread.q1 * 1e3},
          {"q3", spread.q3 * 1e3},
          {"min", spread.min * 1e3},
          {"max", spread.max * 1e3}};
}

template <typename Value>
json or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}

json policy_json(const experiment::PolicyActivity& policy) {
  json figures = json::object();
  for (const auto& [name, figure] : policy.figures) figures[name] = figure;
  return {{"settling_steps", policy.settling_steps}, {"steps", policy.steps},
          {"passes", or_null(policy.passes())},      {"bytes_in", policy.bytes_in},
          {"bytes_out", policy.bytes_out},           {"figures", figures}};
}

json losses_of(const experiment::ComparisonRow& row) {
  json losses = json::array();
  for (std::size_t step = 0; step < row.loss_bits.size(); ++step) losses.push_back(row.loss(step));
  return losses;
}

json row_json(const experiment::ComparisonRow& row) {
  if (row.failure) return {{"planner", row.planner}, {"infeasible", row.failure->message}};
  json rounds = json::array();
  for (const Seconds seconds : row.rounds) rounds.push_back(seconds * 1e3);
  return {{"planner", row.planner},
          {"trials", row.trials ? trials_json(*row.trials) : json()},
          {"planner_config", row.plan().planner_config},
          {"step_ms", milliseconds(row.step_seconds)},
          {"round_ms", rounds},
          {"slowdown", row.slowdown.median},
          {"slowdown_q1", row.slowdown.q1},
          {"slowdown_q3", row.slowdown.q3},
          {"slowdown_min", row.slowdown.min},
          {"slowdown_max", row.slowdown.max},
          {"slowdown_of_starts", row.slowdown_of_starts},
          {"predicted_slowdown", row.predicted_slowdown},
          {"ratio_error", row.ratio_error()},
          {"predicted_ms", row.plan().predicted_step_seconds * 1e3},
          {"prediction_error", row.prediction_error()},
          {"lower_bound_ms", row.plan().lower_bound_seconds * 1e3},
          {"order_bound_ms", row.plan().order_bound_seconds * 1e3},
          {"scaled_bound_ms", row.bound_seconds * 1e3},
          {"stall_ms", row.stall_seconds * 1e3},
          {"bytes_in", row.bytes_in},
          {"bytes_out", row.bytes_out},
          {"raw_bytes_in", row.raw_bytes_in},
          {"raw_bytes_out", row.raw_bytes_out},
          {"policy", row.policy ? policy_json(*row.policy) : json()},
          {"locality", row.locality},
          {"predicted_parts_ms", row.predicted_parts ? sim::breakdown_json(*row.predicted_parts) : nlohmann::json()},
          {"measured_parts_ms", row.measured_parts ? sim::breakdown_json(*row.measured_parts) : nlohmann::json()},
          {"fast_budget_bytes", policies::usable_fast_bytes(row.run)},
          {"asked_budget_bytes", row.plan().raised_from.value_or(policies::usable_fast_bytes(row.run))},
          {"budget_raised", row.plan().raised_from.has_value()},
          {"fast_arena_bytes", policies::fast_arena_bytes(row.run)},
          {"peak_rss_bytes", row.peak_rss_bytes},
          {"final_loss", row.loss(row.loss_bits.size() - 1)},
          {"losses", losses_of(row)},
          {"loss_bits", row.loss_bits},
          {"parameter_hash", row.parameter_hash},
          {"same_losses", row.same_losses},
          {"same_parameters", row.same_parameters},
          {"other_choices", row.other_choices},
          {"ops_by_other_kernels", plan::count_choices(row.plan()).other_kernels},
          {"ops_on_other_processors", plan::count_choices(row.plan()).other_processors},
          {"notes", row.notes}};
}

json profile_json(const experiment::ProfileCheck& check) {
  return {{"measured_ms", check.measured_seconds * 1e3}, {"error", check.error},
          {"measured_again", check.measured_again},      {"error_after", or_null(check.error_after)},
          {"access_counts", check.with_accesses},        {"placements", check.placements}};
}

}  // namespace

json comparison_json(const ComparisonHeading& heading, const experiment::ComparisonResult& result) {
  json rows = json::array();
  for (const experiment::ComparisonRow& row : result.rows) rows.push_back(row_json(row));
  return {{"run", run_record(heading.machine)},
          {"model", heading.graph.name},
          {"batch", data::batch_size(heading.graph)},
          {"fast", heading.fast_budget()},
          {"fast_only_bytes", planners::fast_only_bytes(heading.graph)},
          {"fast_memory_bound", bound_json(heading.graph, bound_of(heading.graph))},
          {"profile", profile_json(result.profile)},
          {"starts", result.starts},
          {"steps", result.steps},
          {"warmup_steps", experiment::kWarmupRounds},
          {"results", rows}};
}

}  // namespace sluice::report
