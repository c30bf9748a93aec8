// How fast this processor encodes and decodes (exec/transfer/zero_value.hpp): one thread, every second element zero,
// data that comes from memory and goes there, chunk by chunk as a lane does it. Takes about 0.1 s and 64 MiB.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice {

struct CoderSpeed {
  BytesPerSecond encode = 0;  // of bytes as they are
  BytesPerSecond decode = 0;
};

// kOutOfSpace where there is no memory for it.
Result<CoderSpeed> measure_coder();

}  // namespace sluice
