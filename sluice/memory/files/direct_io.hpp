// What direct I/O (O_DIRECT) on an open file asks of its caller.
#pragma once

#include <optional>

#include "sluice/base/units.hpp"

namespace sluice::memory {

// What offsets and lengths in the file, and addresses of buffers, must be multiples of; 0: the file has no direct I/O.
// Nothing where the kernel does not say (STATX_DIOALIGN: Linux 6.1, and the file system has to know).
std::optional<Bytes> direct_io_block(int descriptor);

}  // namespace sluice::memory
