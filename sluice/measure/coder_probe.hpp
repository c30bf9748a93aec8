// How fast this processor encodes and decodes (memory/encoding/chunk_coder.hpp): one thread, data that comes from memory and
// goes there, chunk by chunk as a lane does it. Takes about 0.1 s and 64 MiB.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/profile/encoding_figures.hpp"

namespace sluice::measure {

// kZeroValue: floats of which every second is zero. kNarrow: bytes of which two bits are used. kOutOfSpace where there
// is no memory for it.
Result<profile::CoderSpeed> measure_coder(memory::Encoding encoding);

}  // namespace sluice::measure
