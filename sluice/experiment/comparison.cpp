#include "sluice/experiment/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "sluice/base/as_index.hpp"
#include "sluice/experiment/plan_folder.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/planners/bound/any_order_bound.hpp"
#include "sluice/policies/run_file.hpp"
#include "sluice/profile/placement.hpp"
#include "sluice/sim/policy_simulator.hpp"
#include "sluice/train/plan_changes/start.hpp"
#include "sluice/train/planning/planning_advice.hpp"

namespace sluice::experiment {
namespace {

constexpr Seconds kShortStep = 0.5;
constexpr std::int64_t kRoundsOfShortSteps = 7;  // timed, of each start
constexpr std::int64_t kRoundsOfLongSteps = 3;
constexpr std::int64_t kCheckSteps = 3;  // of the baseline, timed to judge op times

struct Contestant {
  ComparisonRow row;
  std::filesystem::path plan_file;
  std::unique_ptr<WorkerProcess> worker;
  std::vector<WorkerRun> runs;  // by start

  bool running() const { return !row.failure; }
  void fail(const Error& error) {
    row.failure = error;
    worker.reset();
  }
};

std::vector<Contestant> contestants_of(std::vector<std::string> planners) {
  if (std::ranges::find(planners, planners::kBaselinePlanner) == planners.end()) {
    planners.insert(planners.begin(), std::string(planners::kBaselinePlanner));
  }
  std::vector<Contestant> contestants(planners.size());
  for (std::size_t i = 0; i < planners.size(); ++i) contestants[i].row.planner = std::move(planners[i]);
  return contestants;
}

class Comparison {
 public:
  Comparison(const train::Workload& workload, const memory::Machine& machine, const profile::Profile& profile,
             const ComparisonOptions& options, const ComparisonProgress& progress, const std::function<bool()>& stop)
      : workload_(workload),
        machine_(machine),
        profile_(profile),
        options_(options),
        progress_(progress),
        stop_(stop),
        contestants_(contestants_of(options.planners)) {}

  Result<ComparisonResult> run() {
    SLUICE_RETURN_IF_ERROR(plan_all());
    result_.starts = options_.starts;
    result_.steps = options_.steps.value_or(default_rounds(result_.profile.measured_seconds));
    for (std::int64_t start = 0; start < result_.starts; ++start) {
      SLUICE_RETURN_IF_ERROR(start_all(start));
      for (std::int64_t round = 0; round < result_.steps; ++round) {
        progress_("round", start * result_.steps + round, result_.starts * result_.steps);
        SLUICE_RETURN_IF_ERROR(run_round(round));
      }
      finish_all();
      SLUICE_RETURN_IF_ERROR(baseline_status());
    }
    return measured();
  }

 private:
  Status plan_all() {
    SLUICE_ASSIGN(plans_, PlanFolder::create());
    SLUICE_RETURN_IF_ERROR(check_profile());
    for (Contestant& contestant : contestants_) {
      if (&contestant != &baseline()) attempt(contestant, &Comparison::plan_to_file);
      SLUICE_RETURN_IF_ERROR(interrupted_or_bad_input(contestant));
    }
    return {};
  }

  Status start_all(std::int64_t start) {
    const auto count = std::ssize(contestants_);
    for (std::int64_t turn = 0; turn < count; ++turn) {
      Contestant& contestant = contestants_[as_index((start + turn) % count)];
      progress_("starting", start * count + turn, result_.starts * count);
      attempt(contestant, &Comparison::start);
      attempt(contestant, &Comparison::settle);
      SLUICE_RETURN_IF_ERROR(interrupted_or_bad_input(contestant));
    }
    return baseline_status();
  }

  // Does its part if nothing has failed before; its failure is the contestant's.
  void attempt(Contestant& contestant, Status (Comparison::*part)(Contestant&)) {
    if (!contestant.running()) return;
    const Status done = (this->*part)(contestant);
    if (!done.ok()) contestant.fail(done.error());
  }

  // Bad input is the caller's mistake and no contestant's: the whole comparison ends.
  Status interrupted_or_bad_input(const Contestant& contestant) const {
    if (stop_()) return Error{ErrorCode::kInterrupted, "interrupted before the rounds"};
    if (contestant.row.failure && contestant.row.failure->code == ErrorCode::kBadInput) return *contestant.row.failure;
    return {};
  }

  Status start(Contestant& contestant) {
    SLUICE_ASSIGN(contestant.worker, WorkerProcess::start(options_.worker, {workload_.options, options_.session,
                                                                            machine_, contestant.plan_file}));
    contestant.row.notes = contestant.worker->notes();
    contestant.runs.emplace_back();
    if (!policies::is_planned(contestant.row.run)) contestant.row.policy.emplace();
    return {};
  }

  Status plan_to_file(Contestant& contestant) {
    SLUICE_RETURN_IF_ERROR(plan(contestant.row));
    contestant.plan_file = plans_->file(contestant.row.planner);
    return policies::write_run(contestant.plan_file, workload_.graph(), contestant.row.run);
  }

  // While it plans; interrupted, it ends soon, and so does the comparison.
  std::shared_ptr<const planners::PlanningWatch> watch_of(const std::string& planner) const {
    constexpr std::int64_t kWhole = 100;
    const auto show = [this, what = planner + " plans"](double done, const std::optional<Seconds>&) {
      progress_(what, static_cast<std::int64_t>(kWhole * done), kWhole);
    };
    return std::make_shared<const planners::PlanningWatch>(planners::PlanningWatch{.progress = show, .stop = stop_});
  }

  Status plan(ComparisonRow& row) const {
    const std::optional<std::int64_t> most_trials = train::has_search(row.planner) ? options_.trials : 0;
    Result<train::PlannedStart> start = train::start_planning(workload_, machine_, profile_, row.planner, options_.fast,
                                                              options_.accesses, most_trials, watch_of(row.planner));
    if (!start.ok())  // its row says why
      return advised(workload_, machine_, profile_, row.planner, options_.fast, options_.accesses, start.error());
    row.run = start->run;
    if (!start->search) return {};
    SLUICE_ASSIGN(train::Workload tried, train::build_workload(workload_.options));
    SLUICE_ASSIGN(row.trials, train::settle_in_training(tried, std::move(*start), {row.planner, most_trials},
                                                        options_.session, rate_of(0), stop_));
    row.run = row.trials->plans[row.trials->kept].plan;
    return {};
  }

  Status check_profile() {
    ProfileCheck& check = result_.profile;
    attempt(baseline(), &Comparison::plan_to_file);
    attempt(baseline(), &Comparison::start);
    SLUICE_RETURN_IF_ERROR(baseline_status());
    SLUICE_ASSIGN(check.measured_seconds, time_baseline());
    check.error = baseline().row.plan().predicted_step_seconds / check.measured_seconds - 1;
    if (std::abs(check.error) > kProfileTolerance && options_.measure_again) {
      progress_("measuring ops again", 0, std::ssize(contestants_));
      SLUICE_ASSIGN(profile_, options_.measure_again());
      SLUICE_RETURN_IF_ERROR(plan_to_file(baseline()));
      check.measured_again = true;
      check.error_after = baseline().row.plan().predicted_step_seconds / check.measured_seconds - 1;
    }
    check.with_accesses = options_.accesses != nullptr;
    for (const auto& times : profile_.placements) check.placements.push_back(times->tier);
    return {};
  }

  // By a process that does nothing else.
  Result<Seconds> time_baseline() {
    const std::unique_ptr<WorkerProcess> worker = std::move(baseline().worker);
    baseline().runs.clear();
    std::vector<Seconds> seconds;
    for (std::int64_t step = 0; step < kWarmupRounds + kCheckSteps; ++step) {
      if (stop_()) return Error{ErrorCode::kInterrupted, "interrupted before the rounds"};
      progress_("checking op times", 0, std::ssize(contestants_));
      SLUICE_ASSIGN(const WorkerStep done, worker->run_step(step, rate_of(step)));
      if (step >= kWarmupRounds) seconds.push_back(done.step_seconds);
    }
    return spread_of(seconds).median;
  }

  // A policy that makes passes, until it has made as many as in its prediction.
  Status settle(Contestant& contestant) {
    const auto* run = std::get_if<policies::PagesRun>(&contestant.row.run);
    if (!contestant.row.policy || run == nullptr || run->policy.tuning.scan_period <= 0) return {};
    PolicyActivity& policy = *contestant.row.policy;
    policy.settling_steps = sim::settling_steps(run->policy.tuning, result_.profile.measured_seconds);
    for (std::int64_t step = 0; step < policy.settling_steps; ++step) {
      if (stop_()) return Error{ErrorCode::kInterrupted, "interrupted before the rounds"};
      progress_(contestant.row.planner + " settles", step, policy.settling_steps);
      SLUICE_ASSIGN(const WorkerStep done, contestant.worker->run_step(step, rate_of(step)));
      const MovedBytes traffic = traffic_of(done, machine_);
      policy.bytes_in += traffic.in;
      policy.bytes_out += traffic.out;
    }
    return contestant.worker->restart();
  }

  Status run_round(std::int64_t round) {
    const std::size_t count = contestants_.size();
    for (std::size_t turn = 0; turn < count; ++turn) {
      Contestant& contestant = contestants_[(turn + as_index(round)) % count];
      if (!contestant.running()) continue;
      if (stop_()) return Error{ErrorCode::kInterrupted, fmt::format("interrupted in round {}", round)};
      Result<WorkerStep> done = contestant.worker->run_step(round, rate_of(round));
      if (done.ok()) {
        contestant.runs.back().steps.push_back(std::move(*done));
      } else {
        contestant.fail(done.error());
      }
    }
    return baseline_status();
  }

  void finish_all() {
    for (Contestant& contestant : contestants_) attempt(contestant, &Comparison::finish);
  }

  Status finish(Contestant& contestant) {
    SLUICE_ASSIGN(contestant.runs.back().summary, contestant.worker->finish());
    contestant.worker.reset();
    return {};
  }

  ComparisonResult measured() {
    for (Contestant& contestant : contestants_) {
      if (!contestant.running()) continue;
      if (auto* plan = std::get_if<plan::Plan>(&contestant.row.run)) certify(*plan);
      contestant.row.other_choices =
          !plan::same_choices(contestant.row.plan(), baseline().row.plan(), workload_.graph());
      add_measurements(contestant.row, contestant.runs, baseline().row, baseline().runs, machine_);
      contestant.row.predicted_parts = predicted_parts(contestant.row.run);
    }
    for (Contestant& contestant : contestants_) result_.rows.push_back(std::move(contestant.row));
    return std::move(result_);
  }

  void certify(plan::Plan& plan) const {
    planners::certify(workload_.graph(), profile_, machine_, plan, planners::kBoundSeconds);
    planners::certify_any_order(workload_.graph(), profile_, machine_, plan, planners::kBoundSeconds);
  }

  std::optional<sim::TimeBreakdown> predicted_parts(const policies::Run& run) const {
    const auto step = sim::PlannedStep::make(workload_.graph(), profile_, machine_, policies::plan_of(run));
    if (!step.ok()) return std::nullopt;
    const auto prediction = predict_step(*step, run, machine_);
    if (!prediction.ok()) return std::nullopt;
    return prediction->parts;
  }

  double rate_of(std::int64_t step) const { return options_.schedule.rate(options_.learning_rate, step); }

  Contestant& baseline() {
    return *std::ranges::find(contestants_, planners::kBaselinePlanner,
                              [](const Contestant& each) -> const std::string& { return each.row.planner; });
  }

  Status baseline_status() {
    if (baseline().running()) return {};
    const Error& failure = *baseline().row.failure;
    return Error{failure.code,
                 fmt::format("the baseline {} cannot run: {}", planners::kBaselinePlanner, failure.message)};
  }

  const train::Workload& workload_;
  const memory::Machine& machine_;
  profile::Profile profile_;
  const ComparisonOptions& options_;
  const ComparisonProgress& progress_;
  const std::function<bool()>& stop_;
  std::unique_ptr<PlanFolder> plans_;
  std::vector<Contestant> contestants_;
  ComparisonResult result_;
};

}  // namespace

std::int64_t default_rounds(Seconds fast_only_step) {
  return kWarmupRounds + (fast_only_step < kShortStep ? kRoundsOfShortSteps : kRoundsOfLongSteps);
}

Status check_rounds(const ComparisonOptions& options) {
  if (options.steps && *options.steps <= kWarmupRounds) {
    return bad_input(fmt::format("--steps {} leaves nothing to time: the first {} rounds are warm-up", *options.steps,
                                 kWarmupRounds));
  }
  if (options.starts < 1) {
    return bad_input(fmt::format("--starts {}: at least one process is needed", options.starts));
  }
  return {};
}

Result<ComparisonResult> compare_planners(const train::Workload& workload, const memory::Machine& machine,
                                          const profile::Profile& profile, const ComparisonOptions& options,
                                          const ComparisonProgress& progress, const std::function<bool()>& stop) {
  SLUICE_RETURN_IF_ERROR(check_rounds(options));
  return Comparison(workload, machine, profile, options, progress, stop).run();
}

}  // namespace sluice::experiment
