#include "sluice/report/comparison_text.hpp"

#include <fmt/format.h>

#include <set>

#include "sluice/memory/processors.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/report/bound_note.hpp"
#include "sluice/report/breakdown_text.hpp"
#include "sluice/report/describe_graph.hpp"
#include "sluice/report/host_cpu.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice::report {
namespace {

std::string tenths_of_milliseconds(Seconds seconds) { return fmt::format("{:.1f}", seconds * 1e3); }
std::string mebibytes(Bytes bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(kMiB));
}

std::string locality_cell(const experiment::ComparisonRow& row) {
  return row.locality.is_null() ? "-" : fmt::format("{:.1f}%", 100 * row.locality.at("by_bytes").get<double>());
}

std::string bits_cell(const experiment::ComparisonRow& row) {
  if (row.other_choices && !row.same_bits()) return "own kernels";
  if (!row.same_losses) return "LOSS DIFFERS";
  return row.same_parameters ? "same" : "PARAMETERS DIFFER";
}

std::vector<std::string> cells_of(const experiment::ComparisonRow& row) {
  return {row.planner,
          tenths_of_milliseconds(row.step_seconds.median),
          fmt::format("{:.1f}-{:.1f}", row.step_seconds.q1 * 1e3, row.step_seconds.q3 * 1e3),
          fmt::format("{:.3f}x", row.slowdown.median),
          fmt::format("{:.3f}-{:.3f}", row.slowdown.q1, row.slowdown.q3),
          fmt::format("{:.3f}x", row.predicted_slowdown),
          fmt::format("{:+.1f}%", 100 * row.ratio_error()),
          fmt::format("{:+.1f}%", 100 * row.prediction_error()),
          tenths_of_milliseconds(row.bound_seconds),
          tenths_of_milliseconds(row.stall_seconds),
          mebibytes(row.bytes_in),
          mebibytes(row.bytes_out),
          locality_cell(row),
          mebibytes(policies::usable_fast_bytes(row.run)) + (row.plan().raised_from ? "*" : ""),
          mebibytes(policies::fast_arena_bytes(row.run)),
          mebibytes(row.peak_rss_bytes),
          fmt::format("{:.6f}", row.loss(row.loss_bits.size() - 1)),
          row.parameter_hash.substr(0, 8),
          bits_cell(row)};
}

std::string link_line(const memory::Machine& machine) {
  std::string text;
  for (const memory::Link& link : machine.links) {
    text +=
        fmt::format("{}{} -> {} {}{}", text.empty() ? "" : ", ", machine.tier(link.from).name,
                    machine.tier(link.to).name, format_bandwidth(link.bandwidth), link.throttled ? " (throttled)" : "");
  }
  return text;
}

std::string raised_note(const experiment::ComparisonRow& row, Bytes asked, const graph::Graph& graph) {
  return fmt::format(
      "* {} cannot do with the {} asked for: its budget is the smallest feasible one, {} ({:.1f} % of "
      "everything)",
      row.planner, format_bytes(asked), format_bytes(row.plan().budgets[0]),
      100 * static_cast<double>(row.plan().budgets[0]) / static_cast<double>(planners::fast_only_bytes(graph)));
}

std::optional<std::string> below_bound_note(const experiment::ComparisonRow& row, const graph::Graph& graph) {
  if (!bound_applies(row.plan())) return std::nullopt;
  return explain_below_bound(bound_of(graph), row.plan().budgets[memory::kFastTier],
                             Loss{row.slowdown.median - 1, "measured"});
}

std::string trials_note(const experiment::ComparisonRow& row) {
  return fmt::format("{} chose its plan in {} trial steps and {} warm-up steps before the first round: {}", row.planner,
                     row.trials->trial_steps, row.trials->warmup_steps, row.trials->search.summary);
}

// That the bits are not those of a run that was asked for nothing.
std::optional<std::string> kernels_note(const experiment::ComparisonRow& row) {
  const std::string choices = plan::describe_choices(row.plan());
  if (!choices.empty()) return fmt::format("{}: {}", row.planner, choices);
  if (!row.other_choices) return std::nullopt;
  return fmt::format("{} runs all ops by the default kernels on one processor, and fast-only does not", row.planner);
}

std::string again_note(const experiment::ProfileCheck& check) {
  return fmt::format(
      "op times were of another moment (fast-only's predicted step was {:+.1f} % off) and were measured again before "
      "planning ({:+.1f} %)",
      100 * check.error, 100 * *check.error_after);
}

std::string figures_cell(const experiment::PolicyActivity& policy) {
  std::string text;
  for (const auto& [name, figure] : policy.figures) {
    if (name != "passes") text += fmt::format("{}{} {:.0f}", text.empty() ? "" : ", ", name, figure);
  }
  return text;
}

std::vector<std::string> activity_cells(const std::string& name, const experiment::PolicyActivity& policy) {
  const std::optional<double> passes = policy.passes();
  return {name,
          std::to_string(policy.steps),
          passes ? fmt::format("{:.0f}", *passes) : "-",
          passes ? fmt::format("{:.2f}", *passes / static_cast<double>(policy.steps)) : "-",
          mebibytes(policy.bytes_in),
          mebibytes(policy.bytes_out),
          figures_cell(policy)};
}

// What every policy did in all its steps; empty when there is none.
std::string policies_text(const experiment::ComparisonResult& result) {
  TextTable table({{"policy"},
                   {"steps", Align::kRight},
                   {"passes", Align::kRight},
                   {"a step", Align::kRight},
                   {"in MiB", Align::kRight},
                   {"out MiB", Align::kRight},
                   {"what it did"}});
  bool any = false;
  for (const experiment::ComparisonRow& row : result.rows) {
    if (row.failure || !row.policy) continue;
    table.add_row(activity_cells(row.planner, *row.policy));
    any = true;
  }
  return any ? fmt::format("\npolicies, all steps together with those before the first round\n{}", table.text()) : "";
}

TextTable rows_table() {
  return TextTable({{"planner", Align::kLeft},
                    {"step ms", Align::kRight},
                    {"q1-q3", Align::kRight},
                    {"slowdown", Align::kRight},
                    {"q1-q3", Align::kRight},
                    {"predicted", Align::kRight},
                    {"error", Align::kRight},
                    {"step error", Align::kRight},
                    {"bound", Align::kRight},
                    {"stall", Align::kRight},
                    {"in MiB", Align::kRight},
                    {"out MiB", Align::kRight},
                    {"local", Align::kRight},
                    {"budget MiB", Align::kRight},
                    {"arena MiB", Align::kRight},
                    {"RSS MiB", Align::kRight},
                    {"loss", Align::kRight},
                    {"hash", Align::kLeft},
                    {"bits", Align::kLeft}});
}

// Who computes: what a GPU is called is in the machine's name.
std::string computer_text(const memory::Machine& machine) {
  if (!machine.tier(memory::kFastTier).kind->host_reaches) return machine.cpu;
  return fmt::format("{}, {} threads", describe_host_cpu(read_host_cpu()), machine.threads);
}

std::string heading_text(const ComparisonHeading& heading, const experiment::ComparisonResult& result) {
  std::string text = describe_graph(heading.graph) + "\n";
  text += fmt::format("{}; {}{}\n", computer_text(heading.machine), link_line(heading.machine),
                      is_emulated(heading.machine) ? "; emulated" : "");
  if (const std::string processors = memory::describe_processors(heading.machine); !processors.empty()) {
    text += fmt::format("processors: {}\n", processors);
  }
  return text + fmt::format("{} steps in turn, {} of them warm-up, by {} of each; fast budget {}\n\n", result.steps,
                            experiment::kWarmupRounds,
                            result.starts == 1 ? "one process" : fmt::format("{} processes", result.starts),
                            heading.fast_budget());
}

// Where the time of each planner's step goes, predicted and measured; empty where nobody knows.
std::vector<NamedBreakdown> breakdowns_of(const experiment::ComparisonResult& result) {
  std::vector<NamedBreakdown> steps;
  for (const experiment::ComparisonRow& row : result.rows) {
    if (row.predicted_parts) steps.push_back({row.planner + ", simulated", *row.predicted_parts});
    if (row.measured_parts) steps.push_back({row.planner + ", executed", *row.measured_parts});
  }
  return steps;
}

}  // namespace

std::string comparison_text(const ComparisonHeading& heading, const experiment::ComparisonResult& result) {
  TextTable table = rows_table();
  std::string failures;
  std::set<std::string> notes;
  if (result.profile.measured_again) notes.insert(again_note(result.profile));
  for (const experiment::ComparisonRow& row : result.rows) {
    if (row.failure) {
      failures += fmt::format("{}: {}\n", row.planner, row.failure->message);
      continue;
    }
    table.add_row(cells_of(row));
    if (const auto asked = row.plan().raised_from) notes.insert(raised_note(row, *asked, heading.graph));
    if (const auto below = below_bound_note(row, heading.graph)) notes.insert(*below);
    if (row.trials) notes.insert(trials_note(row));
    if (const auto kernels = kernels_note(row)) notes.insert(*kernels);
    notes.insert(row.notes.begin(), row.notes.end());
  }
  std::string text = heading_text(heading, result) + table.text() + failures + policies_text(result);
  if (const auto steps = breakdowns_of(result); !steps.empty())
    text += "\nWhere the time goes\n" + breakdown_table(steps);
  for (const std::string& note : notes) text += fmt::format("note: {}\n", note);
  return text;
}

}  // namespace sluice::report
