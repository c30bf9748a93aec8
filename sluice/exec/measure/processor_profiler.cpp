#include "sluice/exec/measure/processor_profiler.hpp"

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

}  // namespace

Status measure_processors(CompiledGraph& compiled, const Machine& machine, const ProfileCache& cache, Profile& profile,
                          const ProfileProgress& on_progress) {
  for (ProcessorId processor = 1; processor < static_cast<ProcessorId>(machine.processor_count()); ++processor) {
    const OpChoice choice{0, processor};
    const auto there =
        compiled.rescheduled(chosen_step(compiled.graph(), std::vector(compiled.graph().ops().size(), choice)));
    const Machine alone = machine_of(machine, processor);
    ProfileCache its_cache = ProfileCache::open(alone.compute_fingerprint(), cache.path().parent_path());
    SLUICE_ASSIGN(Profile times, measure_profile(*there, alone, its_cache, on_progress));
    profile.choices[choice] =
        std::make_shared<OpTimes>(OpTimes{std::move(times.op_seconds), std::move(times.cold_seconds)});
  }
  return {};
}

}  // namespace sluice
