// The requests that a transfer over a link is cut into (Link::request_bytes, Link::queue_depth).
#pragma once

#include "sluice/memory/machine.hpp"

namespace sluice::memory {

// What requests may be: their size and how many are in flight. Figures from outside are held against it where they are read.
inline constexpr Bytes kMostRequestBytes = kGiB;
inline constexpr int kMostQueueDepth = 4096;
constexpr bool are_requests(Bytes request_bytes, int queue_depth) {
  return request_bytes > 0 && request_bytes <= kMostRequestBytes && request_bytes % kBlockAlignment == 0 &&
         queue_depth > 0 && queue_depth <= kMostQueueDepth;
}

}  // namespace sluice::memory
