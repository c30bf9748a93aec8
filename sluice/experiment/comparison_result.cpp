#include "sluice/experiment/comparison_result.hpp"

#include <algorithm>
#include <bit>

namespace sluice {
namespace {

std::vector<Seconds> timed(const WorkerRun& run) {
  std::vector<Seconds> seconds;
  for (std::size_t i = kWarmupRounds; i < run.steps.size(); ++i) seconds.push_back(run.steps[i].step_seconds);
  return seconds;
}

void compare_bits(ComparisonRow& row, const WorkerRun& run, const WorkerRun& baseline) {
  for (const WorkerStep& step : run.steps) row.loss_bits.push_back(step.loss_bits);
  row.same_losses = std::ranges::equal(run.steps, baseline.steps, {}, &WorkerStep::loss_bits, &WorkerStep::loss_bits);
  row.parameter_hash = run.summary.parameter_hash;
  row.same_parameters = row.parameter_hash == baseline.summary.parameter_hash;
}

void add_means(ComparisonRow& row, const WorkerRun& run, const Machine& machine) {
  std::vector<double> stalls;
  for (std::size_t i = kWarmupRounds; i < run.steps.size(); ++i) {
    const MovedBytes traffic = traffic_of(run.steps[i], machine);
    row.bytes_in += traffic.in;
    row.bytes_out += traffic.out;
    stalls.push_back(run.steps[i].stall_seconds);
  }
  row.bytes_in /= static_cast<Bytes>(stalls.size());
  row.bytes_out /= static_cast<Bytes>(stalls.size());
  row.stall_seconds = spread_of(stalls).median;
}

void add_activity(PolicyActivity& policy, const WorkerRun& run, const Machine& machine) {
  for (const WorkerStep& step : run.steps) {
    const MovedBytes traffic = traffic_of(step, machine);
    policy.bytes_in += traffic.in;
    policy.bytes_out += traffic.out;
  }
  policy.steps = policy.settling_steps + static_cast<std::int64_t>(run.steps.size());
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
  return std::ranges::all_of(rows, [](const ComparisonRow& row) { return row.failure || row.same_bits(); });
}

MovedBytes traffic_of(const WorkerStep& step, const Machine& machine) {
  MovedBytes traffic;
  for (std::size_t link = 0; link < machine.links.size(); ++link) {
    const Link& each = machine.links[link];
    (each.to < each.from ? traffic.in : traffic.out) += step.link_bytes.at(link);
  }
  return traffic;
}

void add_measurements(ComparisonRow& row, const WorkerRun& run, const ComparisonRow& baseline,
                      const WorkerRun& baseline_run, const Machine& machine) {
  SLUICE_CHECK(run.steps.size() == baseline_run.steps.size(), "contestants take the same steps");
  compare_bits(row, run, baseline_run);
  row.rounds = timed(run);
  row.step_seconds = spread_of(row.rounds);
  const std::vector<Seconds> baseline_rounds = timed(baseline_run);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < row.rounds.size(); ++i) ratios.push_back(row.rounds[i] / baseline_rounds[i]);
  row.slowdown = spread_of(ratios);
  const Seconds baseline_predicted = baseline.plan.predicted_step_seconds;
  row.predicted_slowdown = row.plan.predicted_step_seconds / baseline_predicted;
  row.bound_seconds = row.plan.lower_bound_seconds * spread_of(baseline_rounds).median / baseline_predicted;
  add_means(row, run, machine);
  if (row.policy) add_activity(*row.policy, run, machine);
  row.peak_rss_bytes = run.summary.peak_rss_bytes;
  row.locality = run.summary.locality;
}

}  // namespace sluice
