#include "sluice/train/step_figures.hpp"

#include <spdlog/spdlog.h>

#include <map>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/profile/op_estimate.hpp"
#include "sluice/sim/drift.hpp"
#include "sluice/sim/times_in_steps.hpp"

namespace sluice::train {
namespace {

// A batch norm that ran as its apply part, or an op by another kernel, says nothing of the graph's own.
bool runs_as_given(const graph::Op& ran, const graph::Op& given) {
  if (ran.kind != given.kind || ran.processor != given.processor) return false;
  return ran.implementations.empty() || ran.implementations.front().name == given.implementations.front().name;
}

// By signature of the given graph's ops.
std::map<std::string, profile::OpMeasurement> ops_in_steps(const graph::Graph& graph, const sim::PlannedStep& step,
                                                           std::span<const program::StepTimes> steps) {
  const std::vector<std::vector<Seconds>> by_slot = sim::op_times_in_steps(step.program(), step.costs(), steps);
  std::map<std::string, std::vector<Seconds>> samples;
  std::map<std::string, profile::OpWork> work;
  for (graph::OpIndex slot = 0; slot < step.graph().op_count(); ++slot) {
    const graph::OpIndex op = step.rescheduled() == nullptr ? slot : step.rescheduled()->op_of[as_index(slot)];
    if (by_slot[as_index(slot)].empty() || !runs_as_given(step.graph().op(slot), graph.op(op))) continue;
    const std::string signature = graph::op_signature(graph, graph.op(op));
    std::vector<Seconds>& of_op = samples[signature];
    of_op.insert(of_op.end(), by_slot[as_index(slot)].begin(), by_slot[as_index(slot)].end());
    work[signature] = profile::work_of(graph, graph.op(op));
  }
  std::map<std::string, profile::OpMeasurement> measured;
  for (auto& [signature, of_op] : samples) {
    measured[signature] = {.warm = profile::summarize(std::move(of_op)), .in_steps = true, .work = work[signature]};
  }
  return measured;
}

void remember(const std::map<std::string, profile::OpMeasurement>& measured, profile::ProfileCache& cache) {
  int unknown = 0;
  for (const auto& [signature, op] : measured) {
    const std::optional<profile::OpMeasurement> known = cache.find_op(signature);
    if (known && known->sound() && !known->in_steps) continue;
    cache.put_op(signature, op);
    ++unknown;
  }
  if (unknown == 0) return;
  if (const Status saved = cache.save(); !saved.ok()) spdlog::warn(saved.error().message);
}

}  // namespace

Figures figures_from_steps(const Workload& workload, const sim::PlannedStep& step, const Figures& before,
                           const program::StepTimes& predicted, std::span<const program::StepTimes> steps,
                           profile::ProfileCache& cache) {
  const auto measured = ops_in_steps(workload.graph(), step, steps);
  profile::ProfileCache now = cache;  // with this run's own times of all ops that ran: they are of this moment
  for (const auto& [signature, op] : measured) now.put_op(signature, op);
  Figures figures{sim::drifted(before.machine, sim::measure_drift(step.program(), predicted, steps)),
                  profile::known_profile(workload.graph(), before.machine, now)};
  figures.profile.encodings = before.profile.encodings;
  figures.profile.choices = before.profile.choices;
  remember(measured, cache);
  return figures;
}

}  // namespace sluice::train
