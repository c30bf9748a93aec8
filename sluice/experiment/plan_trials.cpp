#include "sluice/experiment/plan_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/registry.hpp"

namespace sluice::experiment {
namespace {

// Whether an executor would do the same for both.
bool run_alike(const plan::Plan& a, const plan::Plan& b) {
  return a.budgets == b.budgets && a.ops == b.ops && a.residencies == b.residencies && a.blocks == b.blocks &&
         a.migrations == b.migrations && a.schedule == b.schedule;
}

// kBadInput when trials are asked for and there are none to make.
Result<bool> makes_trials(std::string_view planner, const memory::Machine& machine,
                          const std::optional<std::int64_t>& most_steps) {
  if (most_steps && *most_steps == 0) return false;
  if (has_search(planner)) return most_steps || tries_by_itself(planner, machine);
  if (!most_steps) return false;
  std::string searching;
  for (const planners::PlannerEntry& entry : planners::planners()) {
    if (entry.search) searching += fmt::format("{}{}", searching.empty() ? "" : ", ", entry.name);
  }
  return Error{ErrorCode::kBadInput,
               fmt::format("{} has nothing to try: leave out --trials, or take a planner that decides between plans by "
                           "running them ({})",
                           planner, searching.empty() ? "there is none" : searching)};
}

}  // namespace

PlanTrials::PlanTrials(train::Session& session, PlannedStart start, TrialOptions options)
    : session_(session),
      asked_(std::move(start.asked)),
      search_(std::move(start.search)),
      options_(std::move(options)) {
  record_.profiling_steps = asked_->request.accesses != nullptr ? 1 : 0;
  record_.plans.push_back({session_.plan(), {}});
  note_outcome();
}

Result<train::StepOutcome> PlanTrials::run_step(std::int64_t step, double learning_rate) {
  SLUICE_RETURN_IF_ERROR(start_wanted_plan());
  SLUICE_ASSIGN(train::StepOutcome outcome, session_.run_step(step, learning_rate));
  if (stage_ != Stage::kTrying) return outcome;
  if (cold_steps_ > 0) {
    --cold_steps_;
    ++record_.warmup_steps;
    outcome.variant = "warm-up";
  } else {
    outcome.variant = "trial";
    observe(outcome.trace);
  }
  return outcome;
}

// The executor is another one after that, and its first step cold.
Result<train::ValidationResult> PlanTrials::validate(std::int64_t batches) {
  cold_steps_ = kWarmupSteps;
  return session_.validate(batches);
}

Status PlanTrials::save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) {
  return session_.save_checkpoint(path, next_step);
}

Status PlanTrials::start_wanted_plan() {
  if (stage_ == Stage::kTrying) SLUICE_RETURN_IF_ERROR(start(search_->plan()));
  if (stage_ == Stage::kSettling) {
    SLUICE_RETURN_IF_ERROR(start(plan_to_keep()));
    stage_ = Stage::kSettled;
    record_.kept = running_;
  }
  return {};
}

const plan::Plan& PlanTrials::plan_to_keep() const { return search_->done() ? search_->plan() : search_->best(); }

Status PlanTrials::start(const plan::Plan& proposal) {
  if (run_alike(proposal, session_.plan())) return {};
  const plan::Plan plan = train::finish_proposal(options_.planner, *asked_, proposal);
  const auto begin = std::chrono::steady_clock::now();
  const Status changed = session_.change_plan(plan);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  if (!changed.ok() && !session_.running()) return changed;
  cold_steps_ = kWarmupSteps;
  if (!changed.ok()) {
    record_.notes.push_back("a plan to try could not be started, so the best one before it is kept: " +
                            changed.error().message);
    stage_ = Stage::kSettling;
    return {};
  }
  running_ = index_of(plan);
  if (running_ == record_.plans.size()) record_.plans.push_back({plan, {}});
  ++record_.changes;
  record_.change_seconds += taken.count();
  if (options_.on_change) options_.on_change(record_.plans[running_]);
  return {};
}

void PlanTrials::observe(const program::StepTimes& trace) {
  search_->observe({.seconds = trace.step_seconds, .stalls = trace.stalls});
  ++record_.trial_steps;
  record_.plans[running_].steps.push_back(trace.step_seconds);
  note_outcome();
}

void PlanTrials::note_outcome() {
  record_.search = search_->report();
  record_.complete = search_->done();
  const bool spent = options_.most_steps && record_.trial_steps >= *options_.most_steps;
  if (record_.complete || spent) stage_ = Stage::kSettling;
  if (const std::size_t best = index_of(plan_to_keep()); best < record_.plans.size()) record_.kept = best;
}

std::size_t PlanTrials::index_of(const plan::Plan& plan) const {
  const auto& plans = record_.plans;
  const auto known = std::ranges::find_if(plans, [&](const TriedPlan& tried) { return run_alike(tried.plan, plan); });
  return as_index(known - plans.begin());
}

bool has_search(std::string_view planner) {
  const planners::PlannerEntry* entry = planners::find_planner(planner);
  return entry != nullptr && entry->search;
}

bool tries_by_itself(std::string_view planner, const memory::Machine& machine) {
  return has_search(planner) &&
         std::any_of(machine.tiers.begin() + 1, machine.tiers.end(), std::mem_fn(&memory::Tier::addressable));
}

Result<PlannedStart> start_planning(const train::Workload& workload, const memory::Machine& machine,
                                    const profile::Profile& profile, std::string_view planner,
                                    const train::FastBudget& fast, const profile::AccessProfile* accesses,
                                    const std::optional<std::int64_t>& most_steps,
                                    std::shared_ptr<const planners::PlanningWatch> watch) {
  PlannedStart start;
  SLUICE_ASSIGN(const bool tries, makes_trials(planner, machine, most_steps));
  if (tries) {
    SLUICE_ASSIGN(train::BudgetedRequest asked,
                  train::budgeted_request(workload, machine, profile, planner, fast, accesses));
    start.asked = std::make_unique<train::BudgetedRequest>(std::move(asked));
    Result<std::unique_ptr<planners::PlanSearch>> search = planners::make_search(planner, start.asked->request);
    SLUICE_RETURN_IF_ERROR(search);
    start.search = std::move(*search);
    start.run = train::finish_proposal(planner, *start.asked, start.search->plan());
    return start;
  }
  SLUICE_ASSIGN(start.run, train::plan_run(workload, machine, profile, planner, fast, accesses, std::move(watch)));
  return start;
}

Result<TrialRecord> settle_in_training(train::Workload& workload, PlannedStart start, TrialOptions options,
                                       const train::SessionOptions& session_options, double learning_rate,
                                       const std::function<bool()>& stop) {
  SLUICE_ASSIGN(const auto session,
                train::Session::create(workload, start.asked->request.machine, start.run, session_options));
  PlanTrials trials(*session, std::move(start), std::move(options));
  for (std::int64_t step = 0; !trials.over() && !stop(); ++step) {
    SLUICE_RETURN_IF_ERROR(trials.run_step(step, learning_rate));
  }
  return trials.record();
}

}  // namespace sluice::experiment
