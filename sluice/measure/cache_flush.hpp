// Takes memory out of every processor cache, so that the next access to it goes to memory whatever the caches' size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/base/units.hpp"
#include "sluice/profile/memory_time.hpp"

namespace sluice {

// Calls `flush` with the first byte of each cache line that [data, data + bytes) touches, in ascending order.
template <typename Flush>
void for_each_line(const std::byte* data, Bytes bytes, Flush flush) {
  const auto within = static_cast<Bytes>(reinterpret_cast<std::uintptr_t>(data) % kCacheLine);
  const std::byte* end = data + bytes;
  for (const std::byte* line = bytes > 0 ? data - within : end; line < end; line += kCacheLine) flush(line);
}

// Writes back and drops the cache lines of [data, data + bytes) in all cores, by `threads` threads; about 5 GB/s a
// thread. The contents stay. Done when it returns.
void flush_from_caches(const std::byte* data, Bytes bytes, int threads);

}  // namespace sluice
