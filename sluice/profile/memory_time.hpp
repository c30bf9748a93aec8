// The time of an op whose operands lie in slow memory. One rule, for planners and policies, for prediction and for the
// delays that the executors inject for emulated memory.
//
//   traffic   what passes between the caches and that memory for the op's operands there (cache_model.hpp): bytes read
//             (each sweep, and written-to lines fetched first), bytes written back, reads one by one in no order
//   reading   = read / read_bandwidth  +  scattered x latency / (threads x kReadsInFlight)          [s]
//   writing   = written x granule / kCacheLine / write_bandwidth                                    [s]
//   op        = max(in_fast, reading)  +  max(0, writing - writing of the same bytes in fast memory) [s]
//
// Why. Reads are asked for ahead, by the processor and by its prefetchers, and pass while the op computes: the longer
// of both counts (a roofline). What is written leaves the caches line by line, in no order; a device that writes
// granules of several lines then writes a whole one for each line. Such writes do not hide behind compute: the queue
// before the device is short, and when it is full reads wait too. `in_fast` holds what the same writes take in fast
// memory, so that much is subtracted.
//
// Checked against 28,045 kernels timed on Optane by AutoTM's authors: benchmarks/papers/autotm_numbers.cpp, with its
// result in docs/results/autotm.md. Not in the model: what ops and copies take from each other when they use
// one device at the same time, and the order in which a kernel comes back to a block.
#pragma once

#include "sluice/memory/machine.hpp"
#include "sluice/profile/cache_model.hpp"

namespace sluice::profile {

inline constexpr Bytes kCacheLine = 64;
inline constexpr int kReadsInFlight = 10;  // of one core: its line fill buffers (Skylake: 10 to 12)

// What an op waits for a memory other than the fast one.
struct MemorySeconds {
  Seconds reading = 0;
  Seconds writing = 0;  // more than in fast memory
  MemorySeconds& operator+=(const MemorySeconds& other);
  bool operator==(const MemorySeconds&) const = default;
};

// For `traffic` in `slow` instead of `fast`. A bandwidth of 0 means that nobody measured or gave it: its bytes are then
// taken to cost nothing.
MemorySeconds memory_seconds(const memory::Tier& slow, const memory::Tier& fast, int threads,
                             const MemoryTraffic& traffic);

// The op's time, given its time with everything in fast memory. Never less than that.
Seconds op_seconds_with(Seconds in_fast, const MemorySeconds& slow);

}  // namespace sluice::profile
