#include "sluice/measure/choice_profiler.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"

namespace sluice::measure {
namespace {

// The machine that has this processor alone.
memory::Machine machine_of(const memory::Machine& machine, ProcessorId processor) {
  memory::Machine alone = machine;
  alone.threads = machine.threads_of(processor);
  alone.processors.clear();
  return alone;
}

// Every op by this choice, where it has the implementation and the processor a kernel.
std::vector<graph::OpChoice> all_by(const graph::Graph& graph, const graph::OpChoice& choice) {
  std::vector<graph::OpChoice> choices;
  for (const graph::Op& op : graph.ops()) {
    const bool has = as_index(choice.implementation) < op.implementations.size();
    const bool lacks = std::ranges::find(op.no_kernel_on, choice.processor) != op.no_kernel_on.end();
    choices.push_back({has ? choice.implementation : 0, lacks ? kMainProcessor : choice.processor});
  }
  return choices;
}

Status measure_choice(kernels::CompiledGraph& compiled, const graph::OpChoice& choice, const memory::Machine& alone,
                      profile::ProfileCache& cache, profile::Profile& profile, const ProfileProgress& on_progress,
                      KnownTimes known = KnownTimes::kUse) {
  const auto there = compiled.rescheduled(graph::chosen_step(compiled.graph(), all_by(compiled.graph(), choice)));
  SLUICE_ASSIGN(profile::Profile times,
                measure_profile(*there, alone, cache, {.on_progress = on_progress, .known = known}));
  profile.choices[choice] =
      std::make_shared<profile::OpTimes>(profile::OpTimes{std::move(times.op_seconds), std::move(times.cold_seconds)});
  return {};
}

}  // namespace

Status measure_processors(kernels::CompiledGraph& compiled, const memory::Machine& machine,
                          const profile::ProfileCache& cache, profile::Profile& profile,
                          const ProfileProgress& on_progress) {
  for (ProcessorId processor = 1; processor < as_id<ProcessorId>(machine.processor_count()); ++processor) {
    const memory::Machine alone = machine_of(machine, processor);
    // Ops are told apart by their signatures, and these say nothing of another backend than the main processor's.
    const std::string& backend = machine.processors[as_index(processor)].backend;
    profile::ProfileCache its_cache = profile::ProfileCache::open(
        alone.compute_fingerprint() + (backend == kDefaultBackend ? "" : "-" + backend), cache.path().parent_path());
    SLUICE_RETURN_IF_ERROR(measure_choice(compiled, {0, processor}, alone, its_cache, profile, on_progress));
  }
  return {};
}

Status measure_implementations(kernels::CompiledGraph& compiled, const memory::Machine& machine,
                               profile::ProfileCache& cache, profile::Profile& profile,
                               const ProfileProgress& on_progress, KnownTimes known) {
  std::size_t most = 0;
  for (const graph::Op& op : compiled.graph().ops()) most = std::max(most, op.implementations.size());
  for (std::int32_t i = 1; i < static_cast<std::int32_t>(most); ++i) {
    SLUICE_RETURN_IF_ERROR(measure_choice(compiled, {i, kMainProcessor}, machine, cache, profile, on_progress, known));
  }
  return {};
}

}  // namespace sluice::measure
