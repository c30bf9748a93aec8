#include "tools/compare_output.hpp"

#include <fmt/format.h>

#include <set>

#include "sluice/data/input_tensors.hpp"
#include "sluice/report/bound_note.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"
#include "sluice/train/policy_run.hpp"
#include "tools/plan_output.hpp"
#include "tools/trial_output.hpp"

namespace sluice {
namespace {

using nlohmann::json;

std::string milliseconds(Seconds seconds) { return fmt::format("{:.1f}", seconds * 1e3); }
std::string mebibytes(Bytes bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(kMiB));
}

std::string locality_cell(const ComparisonRow& row) {
  return row.locality.is_null() ? "-" : fmt::format("{:.1f}%", 100 * row.locality.at("by_bytes").get<double>());
}

std::vector<std::string> cells_of(const ComparisonRow& row) {
  return {row.planner,
          milliseconds(row.step_seconds.median),
          milliseconds(row.step_seconds.min),
          milliseconds(row.step_seconds.max),
          fmt::format("{:.3f}x", row.slowdown),
          milliseconds(row.plan.predicted_step_seconds),
          fmt::format("{:+.1f}%", 100 * row.prediction_error()),
          milliseconds(row.plan.lower_bound_seconds),
          milliseconds(row.stall_seconds),
          mebibytes(row.bytes_in),
          mebibytes(row.bytes_out),
          locality_cell(row),
          mebibytes(usable_fast_bytes(row.plan)) + (raised_from(row.plan) ? "*" : ""),
          mebibytes(row.plan.arena_bytes[0]),
          mebibytes(row.peak_rss_bytes),
          fmt::format("{:.6f}", row.losses.back()),
          row.parameter_hash.substr(0, 8),
          row.same_losses ? (row.same_parameters ? "same" : "PARAMETERS DIFFER") : "LOSS DIFFERS"};
}

std::string link_line(const Machine& machine) {
  std::string text;
  for (const Link& link : machine.links) {
    text +=
        fmt::format("{}{} -> {} {}{}", text.empty() ? "" : ", ", machine.tier(link.from).name,
                    machine.tier(link.to).name, format_bandwidth(link.bandwidth), link.throttled ? " (throttled)" : "");
  }
  return text;
}

std::string raised_note(const ComparisonRow& row, Bytes asked, const Graph& graph) {
  return fmt::format(
      "* {} cannot do with the {} asked for: its budget is the smallest feasible one, {} ({:.1f} % of "
      "everything)",
      row.planner, format_bytes(asked), format_bytes(row.plan.budgets[0]),
      100 * static_cast<double>(row.plan.budgets[0]) / static_cast<double>(fast_only_bytes(graph)));
}

std::optional<std::string> below_bound_note(const ComparisonRow& row, const Graph& graph) {
  if (!bound_applies(row.plan)) return std::nullopt;
  return explain_below_bound(bound_of(graph), row.plan.budgets[kFastTier], Loss{row.slowdown - 1, "measured"});
}

std::string trials_note(const ComparisonRow& row) {
  return fmt::format("{} chose its plan in {} trial steps and {} warm-up steps before the first round: {}", row.planner,
                     row.trials->trial_steps, row.trials->warmup_steps, row.trials->search.summary);
}

json row_to_json(const ComparisonRow& row) {
  if (row.failure) return {{"planner", row.planner}, {"infeasible", row.failure->message}};
  const auto spread_json = [](const Spread& spread) {
    return json{{"median", spread.median * 1e3}, {"min", spread.min * 1e3}, {"max", spread.max * 1e3}};
  };
  json rounds = json::array();
  for (const Seconds seconds : row.rounds) rounds.push_back(seconds * 1e3);
  return {{"planner", row.planner},
          {"trials", row.trials ? trials_json(*row.trials) : json()},
          {"planner_config", row.plan.planner_config},
          {"step_ms", spread_json(row.step_seconds)},
          {"round_ms", rounds},
          {"slowdown", row.slowdown},
          {"slowdown_min", row.slowdown_spread.min},
          {"slowdown_max", row.slowdown_spread.max},
          {"predicted_ms", row.plan.predicted_step_seconds * 1e3},
          {"prediction_error", row.prediction_error()},
          {"lower_bound_ms", row.plan.lower_bound_seconds * 1e3},
          {"stall_ms", row.stall_seconds * 1e3},
          {"bytes_in", row.bytes_in},
          {"bytes_out", row.bytes_out},
          {"locality", row.locality},
          {"fast_budget_bytes", usable_fast_bytes(row.plan)},
          {"asked_budget_bytes", raised_from(row.plan).value_or(usable_fast_bytes(row.plan))},
          {"budget_raised", raised_from(row.plan).has_value()},
          {"fast_arena_bytes", row.plan.arena_bytes[0]},
          {"peak_rss_bytes", row.peak_rss_bytes},
          {"final_loss", row.losses.back()},
          {"losses", row.losses},
          {"parameter_hash", row.parameter_hash},
          {"same_losses", row.same_losses},
          {"same_parameters", row.same_parameters},
          {"notes", row.notes}};
}

}  // namespace

std::string comparison_text(const ComparisonHeading& heading, std::span<const ComparisonRow> rows) {
  TextTable table({{"planner", Align::kLeft, 0},
                   {"step ms", Align::kRight, 0},
                   {"min", Align::kRight, 0},
                   {"max", Align::kRight, 0},
                   {"slowdown", Align::kRight, 0},
                   {"predicted", Align::kRight, 0},
                   {"error", Align::kRight, 0},
                   {"bound", Align::kRight, 0},
                   {"stall", Align::kRight, 0},
                   {"in MiB", Align::kRight, 0},
                   {"out MiB", Align::kRight, 0},
                   {"local", Align::kRight, 0},
                   {"budget MiB", Align::kRight, 0},
                   {"arena MiB", Align::kRight, 0},
                   {"RSS MiB", Align::kRight, 0},
                   {"loss", Align::kRight, 0},
                   {"hash", Align::kLeft, 0},
                   {"bits", Align::kLeft, 0}});
  std::string failures;
  std::set<std::string> notes;
  for (const ComparisonRow& row : rows) {
    if (row.failure) {
      failures += fmt::format("{}: {}\n", row.planner, row.failure->message);
    } else {
      table.add_row(cells_of(row));
      if (const auto asked = raised_from(row.plan)) notes.insert(raised_note(row, *asked, heading.graph));
      if (const auto below = below_bound_note(row, heading.graph)) notes.insert(*below);
      if (row.trials) notes.insert(trials_note(row));
      notes.insert(row.notes.begin(), row.notes.end());
    }
  }
  std::string text = describe_graph(heading.graph) + "\n";
  text += fmt::format("{}, {} threads; {}{}\n", heading.machine.cpu, heading.machine.threads,
                      link_line(heading.machine), is_emulated(heading.machine) ? "; emulated" : "");
  text += fmt::format("{} steps in turn, {} of them warm-up; fast budget {}\n\n", heading.steps, kWarmupRounds,
                      heading.fast.empty() ? "100%" : heading.fast);
  text += table.text() + failures;
  for (const std::string& note : notes) text += fmt::format("note: {}\n", note);
  return text;
}

Status write_comparison(const std::string& path, const ComparisonHeading& heading,
                        std::span<const ComparisonRow> rows) {
  json results = json::array();
  for (const ComparisonRow& row : rows) results.push_back(row_to_json(row));
  return write_json_file(path, {{"run", run_record(heading.machine)},
                                {"model", heading.graph.name},
                                {"batch", batch_size(heading.graph)},
                                {"fast", heading.fast.empty() ? "100%" : heading.fast},
                                {"fast_only_bytes", fast_only_bytes(heading.graph)},
                                {"fast_memory_bound", bound_json(heading.graph, bound_of(heading.graph))},
                                {"steps", heading.steps},
                                {"warmup_steps", kWarmupRounds},
                                {"results", results}});
}

}  // namespace sluice
