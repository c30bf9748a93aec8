#include "sluice/experiment/comparison_result.hpp"

#include <algorithm>
#include <bit>

namespace sluice::experiment {
namespace {

std::span<const WorkerStep> timed_steps(const WorkerRun& run) { return std::span(run.steps).subspan(kWarmupRounds); }

std::vector<Seconds> timed(const WorkerRun& run) {
  std::vector<Seconds> seconds;
  for (const WorkerStep& step : timed_steps(run)) seconds.push_back(step.step_seconds);
  return seconds;
}

// Every start is the same training: all of a row's runs must have the bits of the baseline's first.
void compare_bits(ComparisonRow& row, std::span<const WorkerRun> runs, const WorkerRun& baseline) {
  for (const WorkerStep& step : runs.front().steps) row.loss_bits.push_back(step.loss_bits);
  row.parameter_hash = runs.front().summary.parameter_hash;
  row.same_losses = std::ranges::all_of(runs, [&](const WorkerRun& run) {
    return std::ranges::equal(run.steps, baseline.steps, {}, &WorkerStep::loss_bits, &WorkerStep::loss_bits);
  });
  row.same_parameters = std::ranges::all_of(
      runs, [&](const WorkerRun& run) { return run.summary.parameter_hash == baseline.summary.parameter_hash; });
}

// Step times and their ratios to the baseline's of the same round, start by start. Returns the baseline's step times.
std::vector<Seconds> add_rounds(ComparisonRow& row, std::span<const WorkerRun> runs,
                                std::span<const WorkerRun> baseline_runs) {
  std::vector<Seconds> baseline_rounds;
  std::vector<double> ratios;
  for (std::size_t start = 0; start < runs.size(); ++start) {
    SLUICE_CHECK(runs[start].steps.size() == baseline_runs[start].steps.size(), "contestants take the same steps");
    const std::vector<Seconds> seconds = timed(runs[start]);
    const std::vector<Seconds> baseline_seconds = timed(baseline_runs[start]);
    std::vector<double> of_start;
    for (std::size_t i = 0; i < seconds.size(); ++i) of_start.push_back(seconds[i] / baseline_seconds[i]);
    row.slowdown_of_starts.push_back(spread_of(of_start).median);
    ratios.insert(ratios.end(), of_start.begin(), of_start.end());
    row.rounds.insert(row.rounds.end(), seconds.begin(), seconds.end());
    baseline_rounds.insert(baseline_rounds.end(), baseline_seconds.begin(), baseline_seconds.end());
  }
  row.step_seconds = spread_of(row.rounds);
  row.slowdown = spread_of(ratios);
  return baseline_rounds;
}

void add_means(ComparisonRow& row, std::span<const WorkerRun> runs, const memory::Machine& machine) {
  std::vector<double> stalls;
  for (const WorkerRun& run : runs) {
    for (const WorkerStep& step : timed_steps(run)) {
      const MovedBytes traffic = traffic_of(step, machine);
      row.bytes_in += traffic.in;
      row.bytes_out += traffic.out;
      row.raw_bytes_in += traffic.raw_in;
      row.raw_bytes_out += traffic.raw_out;
      stalls.push_back(step.stall_seconds);
    }
    row.peak_rss_bytes = std::max(row.peak_rss_bytes, run.summary.peak_rss_bytes);
  }
  for (Bytes* sum : {&row.bytes_in, &row.bytes_out, &row.raw_bytes_in, &row.raw_bytes_out}) {
    *sum /= std::ssize(stalls);
  }
  row.stall_seconds = spread_of(stalls).median;
}

void add_activity(PolicyActivity& policy, const WorkerRun& run, const memory::Machine& machine) {
  for (const WorkerStep& step : run.steps) {
    const MovedBytes traffic = traffic_of(step, machine);
    policy.bytes_in += traffic.in;
    policy.bytes_out += traffic.out;
  }
  policy.steps = policy.settling_steps + std::ssize(run.steps);
  policy.figures = run.summary.policy_figures;
}

}  // namespace

std::optional<double> PolicyActivity::passes() const {
  const auto found = std::ranges::find(figures, "passes", &std::pair<std::string, double>::first);
  if (found == figures.end()) return std::nullopt;
  return found->second;
}

float ComparisonRow::loss(std::size_t step) const { return std::bit_cast<float>(loss_bits.at(step)); }

bool ComparisonResult::same_bits() const {
  return std::ranges::all_of(
      rows, [](const ComparisonRow& row) { return row.failure || row.other_choices || row.same_bits(); });
}

MovedBytes traffic_of(const WorkerStep& step, const memory::Machine& machine) {
  return moved_bytes(machine, step.link_bytes, step.raw_link_bytes);
}

void add_measurements(ComparisonRow& row, std::span<const WorkerRun> runs, const ComparisonRow& baseline,
                      std::span<const WorkerRun> baseline_runs, const memory::Machine& machine) {
  SLUICE_CHECK(runs.size() == baseline_runs.size(), "contestants are started as often");
  compare_bits(row, runs, baseline_runs.front());
  const std::vector<Seconds> baseline_rounds = add_rounds(row, runs, baseline_runs);
  const Seconds baseline_predicted = baseline.plan().predicted_step_seconds;
  row.predicted_slowdown = row.plan().predicted_step_seconds / baseline_predicted;
  row.bound_seconds = row.plan().lower_bound_seconds * spread_of(baseline_rounds).median / baseline_predicted;
  add_means(row, runs, machine);
  if (row.policy) add_activity(*row.policy, runs.back(), machine);
  row.locality = runs.back().summary.locality;
  row.measured_parts = runs.back().summary.breakdown;
}

}  // namespace sluice::experiment
