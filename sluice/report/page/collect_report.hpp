// Collects everything that a report shows, as one JSON document: a plan and its predicted step, what each tier holds,
// the timeline, the life of every tensor, other planners in the same budget, and step time over budgets.
//
// Its parts are what other commands write, made by the same functions: "plan" is that of `sluice plan --json`, "step" of
// `simulate`, "comparison" of `compare` where planners were run, "sweep" of `sweep`, "machine" of `machine`. docs/report.md
// names the fields. Cost: one planning for each planner and budget; seconds to minutes.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sluice/experiment/comparison.hpp"
#include "sluice/train/planning/planning.hpp"

namespace sluice::report {

struct ReportCommand {
  std::string what;     // "Train under this plan"
  std::string command;  // as one would type it
};

struct ReportRequest {
  std::string planner;                // whose plan is shown
  std::vector<std::string> planners;  // beside it, of planners and policies
  train::FastBudget fast;
  std::string fast_text;       // as the user wrote it
  std::vector<double> shares;  // of everything: budgets of the curve, ascending
  bool run = false;            // the planners, as `sluice compare` does, by `comparison`
  experiment::ComparisonOptions comparison;
  std::string how_measured;  // sentences: how op times and links are known
  std::vector<ReportCommand> commands;
};

// What is done, and of how many parts: for progress.
using ReportProgress = std::function<void(std::string_view what, std::int64_t done, std::int64_t total)>;

// `stop` ends it early: where the plan is made, the rest is left out and "complete" is false; before that it is
// kInterrupted. A planner that cannot do with a budget has the reason in its place; errors are those of the main plan
// and of measuring.
Result<nlohmann::json> collect_report(const train::Workload& workload, const memory::Machine& machine,
                                      const profile::Profile& profile, const profile::AccessProfile* accesses,
                                      const ReportRequest& request, const ReportProgress& progress,
                                      const std::function<bool()>& stop);

}  // namespace sluice::report
