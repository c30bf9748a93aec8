#include "sluice/measure/placement_profiler.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/measure/op_timer.hpp"

namespace sluice::measure {
namespace {

constexpr int kRounds = 5;
constexpr int kLongRounds = 3;
constexpr Seconds kLongOp = 0.01;

struct Task {
  graph::OpIndex op = 0;
  memory::TierId tier = 0;
};

std::vector<memory::TierId> addressable_slow_tiers(const memory::Machine& machine) {
  std::vector<memory::TierId> tiers;
  for (memory::TierId tier = memory::kFastTier + 1; tier < as_id<memory::TierId>(machine.tiers.size()); ++tier) {
    if (machine.tier(tier).addressable) tiers.push_back(tier);
  }
  return tiers;
}

std::vector<graph::TensorId> tensors_of(const graph::Op& op, profile::OperandSet set) {
  std::vector<graph::TensorId> tensors;
  const std::vector<graph::TensorId> distinct = graph::distinct_operands(op);
  for (std::size_t i = 0; i < distinct.size() && i < profile::kMostOperands; ++i) {
    if ((set >> i & 1) != 0) tensors.push_back(distinct[i]);
  }
  return tensors;
}

Result<profile::OpConfigurations> measure_configurations(OpTimer& timer, const graph::Graph& graph, const Task& task) {
  const graph::Op& op = graph.op(task.op);
  const std::vector<profile::OperandSet> sets = profile::configurations_to_measure(op);
  std::vector<std::vector<Seconds>> samples(sets.size());
  profile::OpConfigurations configurations;
  for (const profile::OperandSet set : sets) configurations.push_back({.slow = set});
  timer.put_in_slow({});
  SLUICE_ASSIGN(const Seconds warm_up, timer.run_behind_others(task.op));
  const int rounds = warm_up > kLongOp ? kLongRounds : kRounds;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      timer.put_in_slow(tensors_of(op, sets[i]));
      SLUICE_ASSIGN(const Seconds seconds, timer.run_behind_others(task.op));
      samples[i].push_back(seconds);
    }
  }
  for (std::size_t i = 0; i < sets.size(); ++i) configurations[i].timing = profile::summarize(samples[i]);
  return configurations;
}

// One op of each signature and tier that the cache does not know; counts them all in `effort`.
std::vector<Task> unknown_ops(const graph::Graph& graph, const memory::Machine& machine,
                              const profile::ProfileCache& cache, PlacementEffort& effort) {
  std::vector<Task> tasks;
  for (const memory::TierId tier : addressable_slow_tiers(machine)) {
    std::set<std::string> seen;
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
      const std::string signature = graph::op_signature(graph, graph.op(op));
      if (profile::configurations_to_measure(graph.op(op)).empty() || !seen.insert(signature).second) continue;
      ++effort.ops;
      if (cache.find_placement(signature, machine.tier(tier)) == nullptr) tasks.push_back({op, tier});
    }
  }
  return tasks;
}

Status measure_tasks(kernels::CompiledGraph& compiled, const memory::Machine& machine, profile::ProfileCache& cache,
                     const std::vector<Task>& tasks, PlacementEffort& effort, const ProfileProgress& on_progress) {
  const graph::Graph& graph = compiled.graph();
  SLUICE_ASSIGN(const auto timer, OpTimer::make(compiled, machine.threads, 2));
  memory::TierId measured_tier = memory::kFastTier;
  for (const Task& task : tasks) {
    if (task.tier != measured_tier) {
      SLUICE_RETURN_IF_ERROR(timer->lie_in(machine.tier(memory::kFastTier), machine.tier(task.tier)));
      measured_tier = task.tier;
    }
    SLUICE_ASSIGN(profile::OpConfigurations configurations, measure_configurations(*timer, graph, task));
    effort.configurations += count_of(configurations);
    cache.put_placement(graph::op_signature(graph, graph.op(task.op)), machine.tier(task.tier),
                        std::move(configurations));
    ++effort.measured;
    if (on_progress) on_progress(effort.measured, count_of(tasks));
  }
  if (const Status saved = cache.save(); !saved.ok()) spdlog::warn(saved.error().message);
  return {};
}

}  // namespace

Result<PlacementEffort> measure_placements(kernels::CompiledGraph& compiled, const memory::Machine& machine,
                                           profile::ProfileCache& cache, profile::Profile& profile,
                                           const ProfileProgress& on_progress) {
  if (addressable_slow_tiers(machine).empty()) {
    return Error{ErrorCode::kUnsupported,
                 "times by placement need a slow tier that ops can address in place, and this machine has none: choose "
                 "one such as --slow optane"};
  }
  const auto start = std::chrono::steady_clock::now();
  PlacementEffort effort;
  const std::vector<Task> tasks = unknown_ops(compiled.graph(), machine, cache, effort);
  if (!tasks.empty()) {
    SLUICE_RETURN_IF_ERROR(measure_tasks(compiled, machine, cache, tasks, effort, on_progress));
  }
  profile.placements = profile::known_placements(compiled.graph(), machine, cache);
  effort.seconds = std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - start).count();
  return effort;
}

}  // namespace sluice::measure
