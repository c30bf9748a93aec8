#include "sluice/measure/profiler.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "sluice/base/clock.hpp"
#include "sluice/measure/op_timer.hpp"
#include "sluice/profile/op_estimate.hpp"

namespace sluice::measure {
namespace {

constexpr std::size_t kEnoughSamples = 5;
constexpr std::size_t kEnoughLongSamples = 3;
constexpr Seconds kOpRarelyRepeated = 0.01;
constexpr std::size_t kMostOfEach = 2;  // ops of one signature that are run in a pass
constexpr int kMostBatches = 3;         // of samples, while they are noisy
constexpr Bytes kRingOfCaches = 8;      // of what a working set can count on: an eighth of all
constexpr double kRunsOfAnOp = 8;       // warming up, samples, and as part of what runs before others

// The ops of one signature.
struct OpTask {
  std::string signature;
  std::vector<graph::OpIndex> ops = {};             // the first ones
  int count = 0;                                    // of all
  Seconds estimate = 0;                             // of one
  std::vector<Seconds> warm = {}, cold = {};        // of this batch
  std::optional<profile::OpMeasurement> kept = {};  // with the least medians so far

  graph::OpIndex first() const { return ops.front(); }
  Seconds in_step() const { return count * estimate; }
  bool enough() const {
    if (warm.empty()) return false;
    return warm.size() >= (std::ranges::min(warm) > kOpRarelyRepeated ? kEnoughLongSamples : kEnoughSamples);
  }
};
using OpTasks = std::vector<OpTask*>;

class StepMeasurement {
 public:
  StepMeasurement(kernels::CompiledGraph& compiled, const memory::Machine& machine, profile::ProfileCache& cache,
                  const Profiling& profiling)
      : compiled_(compiled), graph_(compiled.graph()), machine_(machine), cache_(cache), profiling_(profiling) {
    find_tasks();
  }

  // How many ops were measured; they are in the cache then.
  Result<int> measure() {
    if (worth_measuring().empty()) return 0;
    SLUICE_ASSIGN(timer_, OpTimer::make(compiled_, machine_.threads, 1, kRingOfCaches * machine_.cache_bytes));
    begin_ = Clock::now();
    if (limited()) SLUICE_RETURN_IF_ERROR(measure_one_of_each_kind());
    // What is measured may show that more of the rest is worth it.
    for (OpTasks chosen; !(chosen = within_time(worth_measuring())).empty(); estimate()) {
      SLUICE_RETURN_IF_ERROR(measure_in_passes(chosen));
    }
    int measured = 0;
    for (const OpTask& task : tasks_) {
      if (task.kept) cache_.put_op(task.signature, *task.kept);
      measured += task.kept ? 1 : 0;
    }
    return measured;
  }

 private:
  bool limited() const { return profiling_.most_seconds < kWithoutLimit; }
  Seconds left() const { return profiling_.most_seconds - seconds_since(begin_); }
  bool over() const { return left() <= 0; }
  profile::OpWork work(const OpTask& task) const { return profile::work_of(graph_, graph_.op(task.first())); }

  bool knows(const OpTask& task) const {
    const std::optional<profile::OpMeasurement> known = cache_.find_op(task.signature);
    return known && known->sound() && profiling_.known == KnownTimes::kUse &&
           (!profiling_.cold || known->cold.samples > 0);
  }

  void find_tasks() {
    std::map<std::string, std::size_t> places;
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
      std::string signature = graph::op_signature(graph_, graph_.op(op));
      const auto [place, is_new] = places.try_emplace(signature, tasks_.size());
      if (is_new) tasks_.push_back({.signature = std::move(signature)});
      OpTask& task = tasks_[place->second];
      ++task.count;
      if (task.ops.size() < kMostOfEach) task.ops.push_back(op);
    }
    estimate();
  }

  void estimate() {
    std::map<std::string, profile::OpMeasurement> known = cache_.ops();
    for (const OpTask& task : tasks_) {
      if (task.kept) known[task.signature] = *task.kept;
    }
    const profile::OpEstimator estimator(machine_, known);
    for (OpTask& task : tasks_) {
      const auto found = known.find(task.signature);
      task.estimate = found != known.end() ? found->second.warm.median
                                           : estimator.seconds(graph_.op(task.first()).kind, work(task));
    }
  }

  // What is not known, the largest part of the step first, and without the smallest where time is short.
  OpTasks worth_measuring() {
    OpTasks unknown;
    Seconds step = 0;
    for (OpTask& task : tasks_) {
      step += task.in_step();
      const bool measured = task.kept && task.kept->sound();
      if (!measured && !knows(task)) unknown.push_back(&task);
    }
    std::ranges::stable_sort(unknown, std::ranges::greater{}, &OpTask::in_step);
    for (Seconds small = 0; limited() && !unknown.empty(); unknown.pop_back()) {
      small += unknown.back()->in_step();
      if (small > kSmallShare * step) break;
    }
    return unknown;
  }

  Status measure_one_of_each_kind() {
    std::set<graph::OpKind> kinds;
    for (OpTask* task : worth_measuring()) {
      if (over() && !kinds.empty()) break;
      if (!kinds.insert(graph_.op(task->first()).kind).second) continue;
      SLUICE_RETURN_IF_ERROR(timer_->run(task->first()));  // makes its kernel
      SLUICE_ASSIGN(const Seconds seconds, timer_->run_behind_others(task->first()));
      task->kept = {.warm = profile::summarize({seconds}), .work = work(*task)};
    }
    estimate();
    return {};
  }

  OpTasks within_time(const OpTasks& wanted) const {
    OpTasks chosen;
    if (over()) return chosen;
    Seconds needed = 0;
    for (OpTask* task : wanted) {
      needed += kRunsOfAnOp * static_cast<double>(task->ops.size()) * task->estimate;
      if (needed > left()) break;
      chosen.push_back(task);
    }
    return chosen;
  }

  Status measure_in_passes(const OpTasks& chosen) {
    SLUICE_RETURN_IF_ERROR(run_pass(chosen, false));  // warms up
    for (int batch = 0; batch < kMostBatches; ++batch) {
      for (OpTask* task : chosen) task->warm.clear(), task->cold.clear();
      while (!over() && !std::ranges::all_of(chosen, &OpTask::enough)) {
        SLUICE_RETURN_IF_ERROR(run_pass(chosen, true));
      }
      for (OpTask* task : chosen) keep_shorter(*task);
      if (over() || noise(chosen) <= kNoise) return {};
    }
    spdlog::warn("op times differ by {:.0f} % from sample to sample: something else keeps this machine busy",
                 100 * noise(chosen));
    return {};
  }

  // In step order, each op behind those before it. One that is timed cold leaves its operands in the caches as it did
  // when it was timed warm, for the ops behind it.
  Status run_pass(const OpTasks& chosen, bool counts) {
    std::map<graph::OpIndex, OpTask*> at;
    for (OpTask* task : chosen) {
      if (task->enough()) continue;
      for (const graph::OpIndex op : task->ops) at.emplace(op, task);
    }
    graph::OpIndex next = 0;  // first op not yet run in this pass
    for (const auto& [op, task] : at) {
      if (over()) return {};
      for (next = std::max(next, op - kOpsBefore); next < op; ++next) SLUICE_RETURN_IF_ERROR(timer_->run(next));
      SLUICE_ASSIGN(const Seconds warm, timer_->run(op));
      next = op + 1;
      if (!counts) continue;
      task->warm.push_back(warm);
      if (!profiling_.cold) continue;
      SLUICE_ASSIGN(const Seconds cold, timer_->run_cold(op));
      task->cold.push_back(cold);
    }
    if (profiling_.on_progress) show_progress(chosen);
    return {};
  }

  void keep_shorter(OpTask& task) const {
    if (task.warm.empty()) return;
    profile::OpMeasurement now{.warm = profile::summarize(task.warm), .work = work(task)};
    if (!task.cold.empty()) now.cold = profile::summarize(task.cold);
    if (!task.kept || !task.kept->sound()) {  // or what was run to tell others from
      task.kept = now;
      return;
    }
    if (now.warm.median < task.kept->warm.median) task.kept->warm = now.warm;
    if (now.cold.median < task.kept->cold.median) task.kept->cold = now.cold;
  }

  // By how much the medians of this batch are above the shortest samples, over the step.
  static double noise(const OpTasks& chosen) {
    Seconds medians = 0, shortest = 0;
    for (const OpTask* task : chosen) {
      const profile::Timing timing = profile::summarize(task->warm);
      medians += task->count * timing.median;
      shortest += task->count * timing.min;
    }
    return medians / shortest - 1;
  }

  void show_progress(const OpTasks& chosen) const {
    std::size_t samples = 0, wanted = 0;
    for (const OpTask* task : chosen) {
      const std::size_t enough = task->enough() ? task->warm.size() : kEnoughSamples;
      samples += task->warm.size();
      wanted += enough;
    }
    profiling_.on_progress(static_cast<int>(samples), static_cast<int>(wanted));
  }

  kernels::CompiledGraph& compiled_;
  const graph::Graph& graph_;
  const memory::Machine& machine_;
  profile::ProfileCache& cache_;
  const Profiling& profiling_;
  Clock::time_point begin_ = Clock::now();
  std::vector<OpTask> tasks_;
  std::unique_ptr<OpTimer> timer_;
};

}  // namespace

Result<profile::Profile> measure_profile(kernels::CompiledGraph& compiled, const memory::Machine& machine,
                                         profile::ProfileCache& cache, const Profiling& profiling) {
  SLUICE_ASSIGN(const int measured, StepMeasurement(compiled, machine, cache, profiling).measure());
  spdlog::debug("op times of {}: {} distinct ops measured", compiled.graph().name, measured);
  if (measured > 0) {
    if (const Status saved = cache.save(); !saved.ok()) spdlog::warn(saved.error().message);
  }
  profile::Profile profile = profile::known_profile(compiled.graph(), machine, cache);
  profile.measured_ops = measured;
  return profile;
}

}  // namespace sluice::measure
