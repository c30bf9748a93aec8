#include "sluice/sim/noise.hpp"

#include <cmath>
#include <vector>

#include "sluice/base/random.hpp"
#include "sluice/base/spread.hpp"
#include "sluice/profile/rescheduled_times.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/planned_step.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice::sim {
namespace {

constexpr double kNineOfTen = 0.9;

// The sample's factor for what has this name and number.
double factor(const Noise& noise, int sample, double deviation, std::string_view name, std::size_t index) {
  const std::uint64_t seed = noise.seed + static_cast<std::uint64_t>(sample);
  return std::exp(deviation * random_normal(seed, stream_of(name), index));
}

}  // namespace

Drift drawn_drift(const Noise& noise, int sample, std::size_t ops, std::size_t links) {
  Drift drift{.compute = factor(noise, sample, noise.compute, "compute", 0), .links = {}};
  for (std::size_t id = 0; id < links; ++id) drift.links.push_back(factor(noise, sample, noise.link, "link", id));
  for (std::size_t op = 0; op < ops; ++op) drift.ops.push_back(factor(noise, sample, noise.op, "op", op));
  return drift;
}

Result<NoisyStep> predict_under_noise(const graph::Graph& graph, const memory::Machine& machine,
                                      const profile::Profile& profile, const plan::Plan& plan, const Noise& noise) {
  SLUICE_ASSIGN(const PlannedStep as_measured, PlannedStep::make(graph, profile, machine, plan));
  std::vector<double> steps;
  for (int sample = 0; sample < noise.samples; ++sample) {
    const Drift drift = drawn_drift(noise, sample, profile.op_seconds.size(), machine.links.size());
    const memory::Machine sampled = drifted(machine, drift);
    profile::Profile times = drifted(profile, drift);
    if (as_measured.rescheduled() != nullptr) times = profile::rescheduled_times(times, *as_measured.rescheduled());
    steps.push_back(simulate(as_measured.program(), as_measured.costs().with(times, sampled)).step_seconds);
  }
  return NoisyStep{spread_of(steps).median, quantile_of(steps, kNineOfTen)};
}

}  // namespace sluice::sim
