#include "tools/budget_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "sluice/base/parse.hpp"
#include "sluice/base/progress/progress.hpp"
#include "sluice/experiment/sweep.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::cli {
namespace {

constexpr std::string_view kAuto = "auto";
constexpr double kUsualAllowedLoss = 0.05;

// In bytes.
Result<MemorySize> find_budget(const Prepared& prepared, const std::vector<std::string>& planners, double allowed) {
  const auto planner =
      std::ranges::find_if(planners, [](const std::string& name) { return name != planners::kBaselinePlanner; });
  if (planner == planners.end()) {
    return bad_input(fmt::format("--fast {} is for a planner that can do with less than everything; {} cannot", kAuto,
                                 planners::kBaselinePlanner));
  }
  experiment::BudgetSweep sweep(prepared.workload, prepared.machine, prepared.profile, prepared.access_counts());
  ProgressLine progress("finding the budget");
  const experiment::NoLossPoint found =
      sweep.find_no_loss(*planner, allowed, [&](int tried, int at_most) { progress.update(tried, at_most, *planner); });
  progress.clear();
  if (!found.point.feasible()) {
    return Error{ErrorCode::kNoneFound, fmt::format("--fast {}:{:g}%: {}. Allow more loss, or say the budget yourself",
                                                    kAuto, 100 * allowed, found.point.failure)};
  }
  const Bytes whole = planners::fast_only_bytes(prepared.workload.graph());
  print_notes(
      {fmt::format("--fast {}:{:g}%: {} ({:.1f} % of everything) is the least with which {} is predicted to "
                   "take at most {:g} % longer than fast-only: {:.1f} %",
                   kAuto, 100 * allowed, format_bytes(found.point.planned_for),
                   100 * static_cast<double>(found.point.planned_for) / static_cast<double>(whole), *planner,
                   100 * allowed, 100 * (found.point.slowdown - 1))});
  return MemorySize{found.point.planned_for};
}

}  // namespace

Result<double> parse_percentage(const std::string& argument, const std::string& text) {
  std::string_view rest = text;
  const std::optional<double> percent = take_number(rest);
  if (percent && rest == "%" && *percent >= 0 && *percent <= 100) return *percent / 100;
  return bad_input(fmt::format("{}: '{}' is not a percentage; write one from 0% to 100%, such as 1%", argument, text));
}

void BudgetArguments::add_to(CLI::App& command) {
  command
      .add_option("--fast", fast,
                  "Budget of the fast tier: 512MiB, 2GiB, or 20% of what everything takes (default: all it takes); "
                  "auto:5% finds the least that is predicted to cost at most 5% of the time")
      ->type_name("SIZE");
  command.add_flag("--smallest-feasible", smallest_feasible,
                   "Where the planner cannot do with that budget, take the smallest it can, and say so");
}

bool BudgetArguments::is_auto() const { return fast == kAuto || fast.starts_with("auto:"); }

Result<double> BudgetArguments::allowed_loss() const {
  if (fast == kAuto) return kUsualAllowedLoss;
  return parse_percentage("--fast " + fast, fast.substr(kAuto.size() + 1));
}

Status BudgetArguments::check() const {
  if (is_auto()) {
    SLUICE_RETURN_IF_ERROR(allowed_loss());
    return {};
  }
  SLUICE_RETURN_IF_ERROR(fixed());
  return {};
}

Result<train::FastBudget> BudgetArguments::fixed() const {
  train::FastBudget budget{std::nullopt, smallest_feasible};
  if (is_auto()) {
    return bad_input(
        fmt::format("--fast {}: there is no one step here to find a budget for; say it in bytes or as a "
                    "share, such as 20%",
                    fast));
  }
  if (fast.empty()) return budget;
  SLUICE_ASSIGN(budget.size, parse_memory_size(fast));
  return budget;
}

Result<train::FastBudget> budget_for(Prepared& prepared, const BudgetArguments& arguments,
                                     const MachineArguments& machine, const std::vector<std::string>& planners,
                                     const train::SessionOptions& session) {
  train::FastBudget fast{std::nullopt, arguments.smallest_feasible};
  if (!arguments.is_auto()) {
    SLUICE_ASSIGN(fast, arguments.fixed());
  }
  if (prepared.machine.tiers.size() > 1 && std::ranges::any_of(planners, planners::wants_encodings)) {
    SLUICE_RETURN_IF_ERROR(measure_encodings(prepared, machine, fast, session));
  }
  SLUICE_RETURN_IF_ERROR(add_implementations(prepared, machine, planners));
  if (!arguments.is_auto()) return fast;
  SLUICE_ASSIGN(const double allowed, arguments.allowed_loss());
  SLUICE_ASSIGN(fast.size, find_budget(prepared, planners, allowed));
  return fast;
}

}  // namespace sluice::cli
