// What a machine's description says of its GPU.
#pragma once

#include <string>

#include "sluice/base/units.hpp"

namespace sluice::memory {

struct GpuFacts {
  std::string name;    // "NVIDIA H100 80GB HBM3"
  std::string driver;  // the CUDA version of the driver: "13.0"
  Bytes capacity = 0;
  Bytes free = 0;                // of it, now
  BytesPerSecond bandwidth = 0;  // of its memory, by clock and width
  Bytes cache_bytes = 0;         // its last-level cache
  int multiprocessors = 0;
};

}  // namespace sluice::memory
