#include "sluice/train/plan_changes/start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/registry.hpp"

namespace sluice::train {
namespace {

Error nothing_to_try(std::string_view planner) {
  std::string searching;
  for (const planners::PlannerEntry& entry : planners::planners()) {
    if (entry.search) searching += fmt::format("{}{}", searching.empty() ? "" : ", ", entry.name);
  }
  return {ErrorCode::kBadInput,
          fmt::format("{} has nothing to try: leave out --trials, or take a planner that decides between plans by "
                      "running them ({})",
                      planner, searching)};
}

}  // namespace

bool has_search(std::string_view planner) {
  const planners::PlannerEntry* entry = planners::find_planner(planner);
  return entry != nullptr && entry->search;
}

bool makes_trials(std::string_view planner, const memory::Machine& machine,
                  const std::optional<std::int64_t>& most_trials) {
  if (most_trials) return *most_trials > 0;
  return has_search(planner) &&
         std::any_of(machine.tiers.begin() + 1, machine.tiers.end(), std::mem_fn(&memory::Tier::addressable));
}

Result<PlannedStart> start_planning(const Workload& workload, const memory::Machine& machine,
                                    const profile::Profile& profile, std::string_view planner, const FastBudget& fast,
                                    const profile::AccessProfile* accesses,
                                    const std::optional<std::int64_t>& most_trials,
                                    std::shared_ptr<const planners::PlanningWatch> watch) {
  PlannedStart start;
  if (!makes_trials(planner, machine, most_trials)) {
    SLUICE_ASSIGN(start.run, plan_run(workload, machine, profile, planner, fast, accesses, std::move(watch)));
    return start;
  }
  if (!has_search(planner)) return nothing_to_try(planner);
  SLUICE_ASSIGN(BudgetedRequest asked, budgeted_request(workload, machine, profile, planner, fast, accesses));
  start.asked = std::make_unique<BudgetedRequest>(std::move(asked));
  SLUICE_ASSIGN(start.search, planners::make_search(planner, start.asked->request));
  start.run = finish_proposal(planner, *start.asked, start.search->plan());
  return start;
}

Result<PlanRecord> settle_in_training(Workload& workload, PlannedStart start, WatchOptions options,
                                      const SessionOptions& session_options, double learning_rate,
                                      const std::function<bool()>& stop) {
  SLUICE_ASSIGN(const auto session,
                Session::create(workload, start.asked->request.machine, start.run, session_options));
  const auto trials = try_plans(*session, std::move(start), std::move(options));
  for (std::int64_t step = 0; !stop(); ++step) {
    SLUICE_ASSIGN(const StepOutcome outcome, trials->run_step(step, learning_rate));
    if (outcome.variant.empty()) break;
  }
  return trials->record();
}

}  // namespace sluice::train
