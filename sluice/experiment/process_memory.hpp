// How much memory this process has held at most, as the kernel counts it.
#pragma once

#include "sluice/base/units.hpp"

namespace sluice {

// Peak resident size since the program was started (VmHWM: unlike getrusage's figure, it forgets what a parent held
// before exec). 0 where /proc is missing.
Bytes peak_resident_bytes();

}  // namespace sluice
