// Takes memory out of every processor cache, so that the next access to it goes to memory whatever the caches' size.
#pragma once

#include <cstddef>

#include "sluice/base/units.hpp"

namespace sluice {

// Writes back and drops the cache lines of [data, data + bytes) in all cores, by `threads` threads; about 5 GB/s a
// thread. The contents stay. Done when it returns.
void flush_from_caches(const std::byte* data, Bytes bytes, int threads);

}  // namespace sluice
