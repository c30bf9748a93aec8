// Whether this kernel or container has io_uring, found out by making a ring as the engine does (uring_engine.hpp).
#pragma once

#include <string>

#include "sluice/base/units.hpp"

namespace sluice::memory {

struct UringSupport {
  bool available = false;
  bool deferred = false;    // completions when they are asked for: kernels from 6.1
  bool registered = false;  // a buffer of `tried` bytes could be pinned once for all requests
  Bytes tried = 0;
  std::string reason;  // why it is not available
};

// Takes milliseconds, and `bytes` of memory for so long.
UringSupport find_uring(Bytes bytes);

}  // namespace sluice::memory
