// Measures a step's ops on the machine's other processors, as profiler.hpp does on the main one.
//
// Each processor is measured by itself, with its own number of threads and every op of the step on it. What two
// processors take from each other when they run at once (memory bandwidth, shared caches) is in no figure. The times are
// kept in the cache of a machine that has this processor's threads alone, so that a run there knows them too.
#pragma once

#include "sluice/exec/measure/profiler.hpp"

namespace sluice {

// Adds Profile::choices of {0, processor} for every processor but the main one. `cache`: the main processor's, whose
// folder has the others' too.
Status measure_processors(CompiledGraph& compiled, const Machine& machine, const ProfileCache& cache, Profile& profile,
                          const ProfileProgress& on_progress = {});

}  // namespace sluice
