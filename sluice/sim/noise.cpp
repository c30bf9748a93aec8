#include "sluice/sim/noise.hpp"

#include <cmath>
#include <vector>

#include "sluice/base/random.hpp"
#include "sluice/base/spread.hpp"
#include "sluice/profile/rescheduled_times.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/drift.hpp"
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

memory::Machine varied(const memory::Machine& machine, const Noise& noise, int sample) {
  Drift drift;
  for (std::size_t id = 0; id < machine.links.size(); ++id) {
    drift.links.push_back(factor(noise, sample, noise.link, "link", id));
  }
  return drifted(machine, drift);
}

profile::Profile varied(const profile::Profile& profile, const Noise& noise, int sample) {
  const double together = factor(noise, sample, noise.compute, "compute", 0);
  IdVector<graph::OpIndex, double> factors;
  for (std::size_t op = 0; op < profile.op_seconds.size(); ++op) {
    factors.push_back(together * factor(noise, sample, noise.op, "op", op));
  }
  return slowed(profile, factors);
}

Result<NoisyStep> predict_under_noise(const graph::Graph& graph, const memory::Machine& machine,
                                      const profile::Profile& profile, const plan::Plan& plan, const Noise& noise) {
  SLUICE_ASSIGN(const PlannedStep as_measured, PlannedStep::make(graph, profile, machine, plan));
  std::vector<double> steps;
  for (int sample = 0; sample < noise.samples; ++sample) {
    const memory::Machine sampled = varied(machine, noise, sample);
    profile::Profile times = varied(profile, noise, sample);
    if (as_measured.rescheduled() != nullptr) times = profile::rescheduled_times(times, *as_measured.rescheduled());
    steps.push_back(simulate(as_measured.program(), as_measured.costs().with(times, sampled)).step_seconds);
  }
  return NoisyStep{spread_of(steps).median, quantile_of(steps, kNineOfTen)};
}

}  // namespace sluice::sim
