#include "sluice/memory/transfer/memory_line.hpp"

#include <immintrin.h>

namespace sluice::memory {

void MemoryLine::hold_until(Clock::time_point end) {
  while (Clock::now() < end) _mm_pause();
}

}  // namespace sluice::memory
