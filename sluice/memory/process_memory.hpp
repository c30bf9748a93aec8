// How much memory this process has held at most, as the kernel counts it.
#pragma once

#include "sluice/base/units.hpp"

namespace sluice::memory {

// Peak resident size since the program was started (VmHWM: unlike getrusage's figure, it forgets what a parent held
// before exec). The kernel counts a page once for each address it is mapped at; what is so counted again at the time of
// the call, of stitched memory (memory/stitch.hpp), is taken off: ask while the arena is there. 0 where /proc is missing.
Bytes peak_resident_bytes();

// Gives the system what was freed and the allocator keeps, tens of MiB after planning.
void return_free_memory();

// For one arena after another: the first call while an arena is there, the second when it is gone, and the peak is the
// greater of both. Without them, or where the kernel does not count anew, what the first one had counted again stays
// in the peak.
void keep_peak_resident();
void count_peak_anew();

}  // namespace sluice::memory
