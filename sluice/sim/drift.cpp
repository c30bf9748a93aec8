#include "sluice/sim/drift.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/spread.hpp"

namespace sluice::sim {
namespace {

Seconds together(std::span<const program::Span> spans) {
  Seconds seconds = 0;
  for (const program::Span& each : spans) seconds += each.end - each.begin;
  return seconds;
}

Seconds busy_seconds(const std::vector<program::TransferIndex>& lane, const program::StepTimes& times) {
  Seconds seconds = 0;
  for (const program::TransferIndex index : lane) {
    const program::Span& span = times.transfers[as_index(index)];
    seconds += span.end - span.begin;
  }
  return seconds;
}

template <typename Figure>
Seconds median_of(std::span<const program::StepTimes> steps, const Figure& figure) {
  std::vector<double> values;
  for (const program::StepTimes& step : steps) values.push_back(figure(step));
  return spread_of(std::move(values)).median;
}

void scale(IdVector<graph::OpIndex, Seconds>& times, const Drift& drift) {
  for (std::size_t op = 0; op < times.size(); ++op) {
    const double own = drift.ops.empty() ? 1 : drift.ops[as_id<graph::OpIndex>(op)];
    times[as_id<graph::OpIndex>(op)] *= drift.compute * own;
  }
}

}  // namespace

double Drift::largest() const {
  double largest = std::max(compute, 1 / compute);
  for (const double factor : links) largest = std::max({largest, factor, 1 / factor});
  return largest;
}

Drift measure_drift(const program::Program& program, const program::StepTimes& predicted,
                    std::span<const program::StepTimes> observed) {
  const auto compute_of = [](const program::StepTimes& step) { return together(step.ops); };
  Drift drift;
  drift.compute = median_of(observed, compute_of) / compute_of(predicted);
  for (const std::vector<program::TransferIndex>& lane : program.lanes) {
    const auto busy = [&](const program::StepTimes& step) { return busy_seconds(lane, step); };
    const bool tells = busy(predicted) >= kLeastBusy * predicted.step_seconds;
    drift.links.push_back(tells ? median_of(observed, busy) / busy(predicted) : 1);
  }
  return drift;
}

memory::Machine drifted(memory::Machine machine, const Drift& drift) {
  for (std::size_t id = 0; id < machine.links.size(); ++id) {
    memory::Link& link = machine.links[id];
    link.latency *= drift.links[id];
    link.bandwidth /= drift.links[id];
    link.shared_bandwidth /= drift.links[id];
  }
  return machine;
}

profile::Profile drifted(profile::Profile profile, const Drift& drift) {
  scale(profile.op_seconds, drift);
  scale(profile.cold_seconds, drift);
  for (auto& [choice, times] : profile.choices) {
    profile::OpTimes scaled = *times;
    scale(scaled.warm, drift);
    scale(scaled.cold, drift);
    times = std::make_shared<const profile::OpTimes>(std::move(scaled));
  }
  return profile;
}

}  // namespace sluice::sim
