#include "sluice/measure/access_profiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sluice/graph/liveness.hpp"
#include "sluice/measure/access_recorder.hpp"
#include "sluice/measure/sampling_recorder.hpp"
#include "sluice/memory/observe/disturbances.hpp"
#include "sluice/memory/observe/tlb.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::measure {
namespace {

constexpr int kNormalSteps = 3;
constexpr double kPromisedSlowdown = 3.5;  // the rest is for what the estimate does not know: operands read repeatedly
constexpr Seconds kSecondsPerTouch = 6e-6;
constexpr Seconds kSecondsPerPage = 0.3e-6;  // protected and opened twice, and no huge page any more
constexpr Bytes kChunkGrowth = 4;

Result<Seconds> median_step(const StepRunner& run_next_step) {
  SLUICE_RETURN_IF_ERROR(run_next_step());  // warm-up
  std::array<Seconds, kNormalSteps> steps{};
  for (Seconds& step : steps) {
    SLUICE_ASSIGN(step, run_next_step());
  }
  std::ranges::sort(steps);
  return steps[kNormalSteps / 2];
}

// Observed for as long as the object lives.
class Observation {
 public:
  Observation(exec::Executor& executor, exec::OpObserver& observer) : executor_(executor) {
    executor_.observe(&observer);
  }
  ~Observation() { executor_.observe(nullptr); }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

 private:
  exec::Executor& executor_;
};

struct Counting {
  exec::Executor& executor;
  const graph::Graph& graph;
  const program::Program& program;
  int threads;
  const StepRunner& run_next_step;
};

Status count_by_protection(const Counting& with, profile::AccessProfile& profile) {
  SLUICE_ASSIGN(const auto recorder, AccessRecorder::create(with.graph, with.program, profile.tlb_reach,
                                                            profile.largest_chunk, with.threads));
  {
    const Observation observation(with.executor, *recorder);
    SLUICE_ASSIGN(profile.profiled_step, with.run_next_step());
  }
  profile.ops = recorder->counts();
  profile.notes.push_back(
      fmt::format("the counter's own tables took {} of memory", format_bytes(recorder->table_bytes())));
  if (!recorder->complete()) {
    profile.notes.emplace_back("the kernel refused to split more mappings (vm.max_map_count): the counts are too low");
  }
  return {};
}

Status count_by_sampling(const Counting& with, profile::AccessProfile& profile) {
  profile.method = "hardware sampling";
  SLUICE_ASSIGN(const auto recorder, SamplingRecorder::create(with.graph));
  {
    const Observation observation(with.executor, *recorder);
    SLUICE_ASSIGN(profile.profiled_step, with.run_next_step());
  }
  profile.ops = recorder->counts();
  for (std::string& note : recorder->notes()) profile.notes.push_back(std::move(note));
  return {};
}

// Larger chunks until the step is fast enough, where the choice is ours.
Status count_in_time(const Counting& with, Bytes chunk, Bytes limit, profile::AccessProfile& profile) {
  const bool chosen = chunk == 0;
  const Seconds extra = (kPromisedSlowdown - 1) * profile.normal_step;
  const std::vector<std::string> notes = profile.notes;
  for (profile.largest_chunk = chosen ? choose_chunk(with.graph, extra, limit) : chunk;;
       profile.largest_chunk = std::min(limit, kChunkGrowth * profile.largest_chunk)) {
    profile.notes = notes;
    SLUICE_RETURN_IF_ERROR(count_by_protection(with, profile));
    const bool in_time = profile.profiled_step <= kMostSlowdown * profile.normal_step;
    if (in_time || !chosen || profile.largest_chunk == limit) return {};
  }
}

}  // namespace

Bytes choose_chunk(const graph::Graph& graph, Seconds extra, Bytes limit) {
  for (Bytes largest = memory::kSmallestChunk; largest < limit; largest *= 2) {
    Seconds cost = 0;
    for (const graph::Op& op : graph.ops()) {
      for (const graph::TensorId id : graph::distinct_operands(op)) {
        const Bytes bytes = plan::stored_bytes(graph.tensor(id));
        const Bytes chunk = memory::PageTracker::chunk_of(bytes, largest);
        cost += static_cast<double>(bytes / memory::kSmallestChunk) * kSecondsPerPage;
        cost += static_cast<double>((bytes + chunk - 1) / chunk) * kSecondsPerTouch;
      }
    }
    if (cost <= extra) return largest;
  }
  return limit;
}

Result<profile::AccessProfile> profile_accesses(exec::Executor& executor, const graph::Graph& graph,
                                                const program::Program& program, const memory::Machine& machine,
                                                const AccessCounting& counting, const StepRunner& run_next_step) {
  profile::AccessProfile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  profile.method = "page protection";
  profile.notes = memory::counting_disturbances();
  const memory::TlbReach tlb = memory::machine_tlb_reach();
  profile.tlb_reach = counting.tlb_reach;
  if (counting.tlb_reach == 0) {
    profile.tlb_reach = tlb.bytes * machine.threads;
    profile.notes.push_back(memory::describe(tlb));
  }
  const Bytes limit = memory::PageTracker::largest_chunk(profile.tlb_reach, machine.threads);
  if (counting.largest_chunk != 0) {
    SLUICE_RETURN_IF_ERROR(
        memory::PageTracker::check_chunk(counting.largest_chunk, profile.tlb_reach, machine.threads));
  }
  SLUICE_ASSIGN(profile.normal_step, median_step(run_next_step));
  const Counting with{executor, graph, program, machine.threads, run_next_step};
  SLUICE_RETURN_IF_ERROR(counting.hardware_sampling ? count_by_sampling(with, profile)
                                                    : count_in_time(with, counting.largest_chunk, limit, profile));
  return profile;
}

}  // namespace sluice::measure
