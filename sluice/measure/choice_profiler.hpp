// Measures a step's ops as profiler.hpp does, by other implementations than the first and on other processors than the
// main one: Profile::choices.
//
// Each processor is measured by itself, with its own number of threads and every op of the step on it. What two
// processors take from each other when they run at once (memory bandwidth, shared caches) is in no figure. The times
// are kept in the cache of a machine that has this processor's threads alone, so that a run there knows them too.
//
// Implementations are measured in rounds: in round i every op that has an implementation i runs by it. An op's
// signature names the one that runs, so only those ops are measured, once each.
#pragma once

#include "sluice/measure/profiler.hpp"

namespace sluice::measure {

// The first implementations on every processor but the main one. `cache`: the main processor's, whose folder has the
// others' too.
Status measure_processors(kernels::CompiledGraph& compiled, const memory::Machine& machine,
                          const profile::ProfileCache& cache, profile::Profile& profile,
                          const ProfileProgress& on_progress = {});

// All other implementations, on the main processor. With KnownTimes::kReplace every round measures the whole step
// again.
Status measure_implementations(kernels::CompiledGraph& compiled, const memory::Machine& machine,
                               profile::ProfileCache& cache, profile::Profile& profile,
                               const ProfileProgress& on_progress = {}, KnownTimes known = KnownTimes::kUse);

}  // namespace sluice::measure
