// The machine's bandwidths, measured or remembered.
//
// Measuring takes about 10 s and 1 GiB of a file tier (probe/probe.hpp), so commands that plan repeatedly may
// use the figures in the profile cache; commands whose business is measuring links (machine, compare) never do. A run
// that measures its links by its own steps may begin with a short look.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/profile/profile_cache.hpp"

namespace sluice::experiment {

enum class Probe { kMeasure, kUseCache };

// Fills in bandwidths of tiers and links and remembers them.
Status probe_machine(memory::Machine& machine, profile::ProfileCache& cache, Probe probe);

// The figures that are remembered, else those of a short look, now or earlier. Whether they are of a short look.
Result<bool> look_at_machine(memory::Machine& machine, profile::ProfileCache& cache);

}  // namespace sluice::experiment
