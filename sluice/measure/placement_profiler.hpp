// Times every distinct op of a step with its operands spread over the fast tier and each slow tier that ops may
// address: the configurations of profile/placement.hpp, each warm, behind the two ops before it.
//
// All configurations of an op are measured in turn, five rounds after a warm-up run (three for ops above 10 ms), so
// that what changes on the machine meanwhile changes all of them. Operands of an emulated tier lie in DRAM outside the
// scratch memory of the fast tier; how much more that tier costs is computed, not measured (profile/memory_time.hpp).
// Needs twice the profiler's memory, and up to fifteen runs of ops a configuration. Compute thread only.
#pragma once

#include "sluice/measure/profiler.hpp"

namespace sluice::measure {

struct PlacementEffort {
  int ops = 0;             // distinct, over all slow tiers
  int measured = 0;        // of these, not known before
  int configurations = 0;  // that were measured
  Seconds seconds = 0;     // that it took
};

// Measures what the cache does not know and puts everything into `profile`. The cache is saved as in measure_profile().
// kUnsupported when the machine has no slow tier that ops may address.
Result<PlacementEffort> measure_placements(kernels::CompiledGraph& compiled, const memory::Machine& machine,
                                           profile::ProfileCache& cache, profile::Profile& profile,
                                           const ProfileProgress& on_progress = {});

}  // namespace sluice::measure
