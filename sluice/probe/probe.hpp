// Measures what the machine's tiers and links do.
//
//   memory tiers           the bandwidth of DRAM, and of NUMA nodes where the firmware does not give it
//   between memory tiers   the bandwidth each way of copies beside compute, one way and both ways at once, and what the
//                          copies cost compute (probe_beside_compute.hpp)
//   file tiers             the bandwidth each way that lasts, alone and both ways at once, with the request size and queue
//                          depth that reach it, and what transfers cost compute
//   between a file and memory of a processor's own   not measured: as between the file and the fast tier, both DRAM
//
// Takes about 10 s and, for a file tier, 1 GiB of it (probe_memory.hpp and probe_file.hpp say how); a short look takes
// one or two seconds and an eighth of the file, and may take the burst of a cache for what a disk does. A throttled link
// (and so every emulated one) keeps its bandwidth, or gets the measured one where the hardware cannot reach it: a
// throttle only slows down. Pass a fresh Machine: figures that were once lowered are not raised again.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::probe {

enum class ProbeLength { kFull, kShort };

Status measure_links(memory::Machine& machine, ProbeLength length = ProbeLength::kFull);

// About how long that takes on an idle machine: by its tiers and links.
Seconds usual_probe_seconds(const memory::Machine& machine);

}  // namespace sluice::probe
