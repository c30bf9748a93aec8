#include "sluice/experiment/comparison.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>

#include "sluice/experiment/worker.hpp"
#include "sluice/plan/plan_file.hpp"

namespace sluice {
namespace {

// A folder for the plans that workers read; gone with the object.
class PlanFolder {
 public:
  static Result<std::unique_ptr<PlanFolder>> create() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sluice-plans-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      return Error{ErrorCode::kIo, fmt::format("cannot make a folder for plans at {}", pattern)};
    }
    return std::unique_ptr<PlanFolder>(new PlanFolder(pattern));
  }
  ~PlanFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PlanFolder(const PlanFolder&) = delete;
  PlanFolder& operator=(const PlanFolder&) = delete;

  std::filesystem::path file(std::string_view planner) const { return path_ / fmt::format("{}.json", planner); }

 private:
  explicit PlanFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

struct Contestant {
  ComparisonRow row;
  std::unique_ptr<WorkerProcess> worker;
  std::vector<WorkerStep> steps;

  bool running() const { return !row.failure; }
  void fail(const Error& error) {
    row.failure = error;
    worker.reset();
  }
};

std::vector<std::string> with_baseline(std::vector<std::string> planners) {
  if (std::ranges::find(planners, kBaselinePlanner) == planners.end()) {
    planners.insert(planners.begin(), std::string(kBaselinePlanner));
  }
  return planners;
}

class Comparison {
 public:
  Comparison(const Workload& workload, const Machine& machine, const Profile& profile, const ComparisonOptions& options)
      : workload_(workload), machine_(machine), profile_(profile), options_(options) {}

  Status prepare(const ComparisonProgress& progress, const std::function<bool()>& stop) {
    SLUICE_ASSIGN(plans_, PlanFolder::create());
    const std::vector<std::string> planners = with_baseline(options_.planners);
    for (const std::string& planner : planners) {
      progress("starting", static_cast<std::int64_t>(contestants_.size()), static_cast<std::int64_t>(planners.size()));
      Contestant contestant;
      contestant.row.planner = planner;
      const Status started = start(contestant, stop);
      if (!started.ok() && started.error().code == ErrorCode::kBadInput) return started.error();
      if (!started.ok()) contestant.fail(started.error());
      contestants_.push_back(std::move(contestant));
    }
    return baseline_status();
  }

  Status run_round(std::int64_t step) {
    const float rate = options_.schedule.rate(options_.learning_rate, step);
    for (Contestant& contestant : contestants_) {
      if (!contestant.running()) continue;
      Result<WorkerStep> done = contestant.worker->run_step(step, rate);
      if (done.ok()) {
        contestant.steps.push_back(std::move(*done));
      } else {
        contestant.fail(done.error());
      }
    }
    return baseline_status();
  }

  Result<std::vector<ComparisonRow>> finish() {
    for (Contestant& contestant : contestants_) {
      if (!contestant.running()) continue;
      const Result<WorkerSummary> summary = contestant.worker->finish();
      if (!summary.ok()) {
        contestant.fail(summary.error());
        continue;
      }
      contestant.row.parameter_hash = summary->parameter_hash;
      contestant.row.peak_rss_bytes = summary->peak_rss_bytes;
      contestant.row.locality = summary->locality;
    }
    SLUICE_RETURN_IF_ERROR(baseline_status());
    std::vector<ComparisonRow> rows;
    for (Contestant& contestant : contestants_) {
      if (contestant.running()) summarise(contestant);
    }
    for (Contestant& contestant : contestants_) rows.push_back(std::move(contestant.row));
    return rows;
  }

 private:
  Status start(Contestant& contestant, const std::function<bool()>& stop) {
    SLUICE_RETURN_IF_ERROR(plan(contestant.row, stop));
    const std::filesystem::path file = plans_->file(contestant.row.planner);
    SLUICE_RETURN_IF_ERROR(write_plan(file, workload_.graph(), contestant.row.plan));
    SLUICE_ASSIGN(contestant.worker,
                  WorkerProcess::start("/proc/self/exe", {workload_.options, options_.session, machine_, file}));
    contestant.row.notes = contestant.worker->notes();
    return {};
  }

  Status plan(ComparisonRow& row, const std::function<bool()>& stop) const {
    const std::optional<std::int64_t> most_steps = has_search(row.planner) ? options_.trials : 0;
    SLUICE_ASSIGN(PlannedStart start, start_planning(workload_, machine_, profile_, row.planner, options_.fast,
                                                     options_.accesses, most_steps));
    row.plan = start.plan;
    if (!start.search) return {};
    SLUICE_ASSIGN(Workload tried, build_workload(workload_.options));
    SLUICE_ASSIGN(row.trials, settle_in_training(tried, std::move(start), {row.planner, most_steps}, options_.session,
                                                 options_.schedule.rate(options_.learning_rate, 0), stop));
    row.plan = row.trials->plans[row.trials->kept].plan;
    return {};
  }

  const Contestant& baseline() const {
    return *std::ranges::find(contestants_, kBaselinePlanner,
                              [](const Contestant& each) -> const std::string& { return each.row.planner; });
  }

  Status baseline_status() const {
    if (baseline().running()) return {};
    const Error& failure = *baseline().row.failure;
    return Error{failure.code, fmt::format("the baseline {} cannot run: {}", kBaselinePlanner, failure.message)};
  }

  void summarise(Contestant& contestant) const {
    ComparisonRow& row = contestant.row;
    const std::vector<WorkerStep>& base = baseline().steps;
    std::vector<double> ratios;
    std::vector<double> stalls;
    row.same_losses = true;
    for (std::size_t i = 0; i < contestant.steps.size(); ++i) {
      const WorkerStep& step = contestant.steps[i];
      row.losses.push_back(std::bit_cast<float>(step.loss_bits));
      row.same_losses = row.same_losses && step.loss_bits == base[i].loss_bits;
      if (i < kWarmupRounds) continue;
      row.rounds.push_back(step.step_seconds);
      ratios.push_back(step.step_seconds / base[i].step_seconds);
      stalls.push_back(step.stall_seconds);
    }
    row.same_parameters = row.parameter_hash == baseline().row.parameter_hash;
    row.step_seconds = spread_of(row.rounds);
    row.slowdown_spread = spread_of(ratios);
    row.slowdown = row.slowdown_spread.median;
    row.stall_seconds = spread_of(stalls).median;
    for (std::size_t link = 0; link < machine_.links.size(); ++link) {
      const Link& each = machine_.links[link];
      (each.to < each.from ? row.bytes_in : row.bytes_out) += contestant.steps.back().link_bytes.at(link);
    }
  }

  const Workload& workload_;
  const Machine& machine_;
  const Profile& profile_;
  const ComparisonOptions& options_;
  std::unique_ptr<PlanFolder> plans_;
  std::vector<Contestant> contestants_;
};

}  // namespace

Spread spread_of(std::vector<double> values) {
  SLUICE_CHECK(!values.empty(), "a spread needs values");
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

Result<std::vector<ComparisonRow>> compare_planners(const Workload& workload, const Machine& machine,
                                                    const Profile& profile, const ComparisonOptions& options,
                                                    const ComparisonProgress& progress,
                                                    const std::function<bool()>& stop) {
  if (options.steps <= kWarmupRounds) {
    return Error{ErrorCode::kBadInput, fmt::format("--steps {} leaves nothing to time: the first {} rounds are warm-up",
                                                   options.steps, kWarmupRounds)};
  }
  Comparison comparison(workload, machine, profile, options);
  SLUICE_RETURN_IF_ERROR(comparison.prepare(progress, stop));
  for (std::int64_t step = 0; step < options.steps; ++step) {
    if (stop()) return Error{ErrorCode::kInterrupted, fmt::format("interrupted after {} rounds", step)};
    progress("round", step, options.steps);
    SLUICE_RETURN_IF_ERROR(comparison.run_round(step));
  }
  return comparison.finish();
}

}  // namespace sluice
