#include "sluice/measure/choice_profiler.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"

namespace sluice {
namespace {

// The machine that has this processor alone.
Machine machine_of(const Machine& machine, ProcessorId processor) {
  Machine alone = machine;
  alone.threads = machine.threads_of(processor);
  alone.processors.clear();
  return alone;
}

// Every op by this choice, where it has the implementation and the processor a kernel.
std::vector<OpChoice> all_by(const Graph& graph, const OpChoice& choice) {
  std::vector<OpChoice> choices;
  for (const Op& op : graph.ops()) {
    const bool has = static_cast<std::size_t>(choice.implementation) < op.implementations.size();
    const bool lacks = std::ranges::find(op.no_kernel_on, choice.processor) != op.no_kernel_on.end();
    choices.push_back({has ? choice.implementation : 0, lacks ? kMainProcessor : choice.processor});
  }
  return choices;
}

Status measure_choice(CompiledGraph& compiled, const OpChoice& choice, const Machine& alone, ProfileCache& cache,
                      Profile& profile, const ProfileProgress& on_progress, KnownTimes known = KnownTimes::kUse) {
  const auto there = compiled.rescheduled(chosen_step(compiled.graph(), all_by(compiled.graph(), choice)));
  SLUICE_ASSIGN(Profile times, measure_profile(*there, alone, cache, {.on_progress = on_progress, .known = known}));
  profile.choices[choice] =
      std::make_shared<OpTimes>(OpTimes{std::move(times.op_seconds), std::move(times.cold_seconds)});
  return {};
}

}  // namespace

Status measure_processors(CompiledGraph& compiled, const Machine& machine, const ProfileCache& cache, Profile& profile,
                          const ProfileProgress& on_progress) {
  for (ProcessorId processor = 1; processor < static_cast<ProcessorId>(machine.processor_count()); ++processor) {
    const Machine alone = machine_of(machine, processor);
    // Ops are told apart by their signatures, and these say nothing of another backend than the main processor's.
    const std::string& backend = machine.processors[as_index(processor)].backend;
    ProfileCache its_cache = ProfileCache::open(
        alone.compute_fingerprint() + (backend == kDefaultBackend ? "" : "-" + backend), cache.path().parent_path());
    SLUICE_RETURN_IF_ERROR(measure_choice(compiled, {0, processor}, alone, its_cache, profile, on_progress));
  }
  return {};
}

Status measure_implementations(CompiledGraph& compiled, const Machine& machine, ProfileCache& cache, Profile& profile,
                               const ProfileProgress& on_progress, KnownTimes known) {
  std::size_t most = 0;
  for (const Op& op : compiled.graph().ops()) most = std::max(most, op.implementations.size());
  for (std::int32_t i = 1; i < static_cast<std::int32_t>(most); ++i) {
    SLUICE_RETURN_IF_ERROR(measure_choice(compiled, {i, kMainProcessor}, machine, cache, profile, on_progress, known));
  }
  return {};
}

}  // namespace sluice
