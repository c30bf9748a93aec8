#include "sluice/measure/cache_flush.hpp"

#include <cpuid.h>
#include <immintrin.h>

#include <algorithm>

namespace sluice {
namespace {

constexpr Bytes kFlushBlock = 256 * kKiB;

bool has_clflushopt() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & bit_CLFLUSHOPT) != 0;
}

// Unordered among each other, so several times faster than clflush, which every x86-64 has.
__attribute__((target("clflushopt"))) void flush_line_at_once(const std::byte* line) {
  _mm_clflushopt(const_cast<std::byte*>(line));
}

void flush_line(const std::byte* line) { _mm_clflush(line); }

}  // namespace

void flush_from_caches(const std::byte* data, Bytes bytes, int threads) {
  static const bool at_once = has_clflushopt();
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (Bytes begin = 0; begin < bytes; begin += kFlushBlock) {
      for_each_line(data + begin, std::min(kFlushBlock, bytes - begin), at_once ? flush_line_at_once : flush_line);
    }
    _mm_mfence();
  }
}

}  // namespace sluice
