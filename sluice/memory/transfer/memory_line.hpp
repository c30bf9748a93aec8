// The bandwidth of an emulated memory. A processor that copies to or from real slow memory is busy until the bytes have
// passed. A processor that copies in DRAM instead would be free too early. So it takes its place on the line before it
// copies, and is held until its turn there has passed.
//
//   end = max(now, end of whoever was before) + bytes / bandwidth
//
// Ends are absolute: a holder that is late does not make the next one late. Holding spins, because a processor that
// waits for memory does nothing else. Any thread; cost: a mutex.
#pragma once

#include <mutex>

#include "sluice/memory/transfer/deadline.hpp"

namespace sluice::memory {

class MemoryLine {
 public:
  // 0: the memory is real, as slow as it is; nobody is held.
  explicit MemoryLine(BytesPerSecond bandwidth = 0) : bandwidth_(bandwidth) {}

  // When `bytes` that begin now will have passed.
  Clock::time_point end_of(Bytes bytes) {
    const Clock::time_point now = Clock::now();
    if (bandwidth_ <= 0) return now;
    const std::lock_guard lock(mutex_);
    free_ = std::max(free_, now) + to_duration(static_cast<Seconds>(bytes) / bandwidth_);
    return free_;
  }

  static void hold_until(Clock::time_point end);

 private:
  BytesPerSecond bandwidth_;
  std::mutex mutex_;
  Clock::time_point free_;
};

}  // namespace sluice::memory
