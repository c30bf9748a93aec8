#include "sluice/profile/memory_time.hpp"

#include <algorithm>

namespace sluice::profile {
namespace {

Seconds transfer_seconds(double bytes, BytesPerSecond bandwidth) { return bandwidth > 0 ? bytes / bandwidth : 0; }

Seconds writing_seconds(const memory::Tier& tier, double bytes) {
  const double granules_per_line = static_cast<double>(std::max(tier.granule, kCacheLine)) / kCacheLine;
  return transfer_seconds(bytes * granules_per_line, tier.write_bandwidth);
}

}  // namespace

MemorySeconds& MemorySeconds::operator+=(const MemorySeconds& other) {
  reading += other.reading;
  writing += other.writing;
  return *this;
}

MemorySeconds memory_seconds(const memory::Tier& slow, const memory::Tier& fast, int threads,
                             const MemoryTraffic& traffic) {
  const Seconds waits = traffic.scattered * slow.latency / (threads * kReadsInFlight);
  return {.reading = transfer_seconds(traffic.read, slow.read_bandwidth) + waits,
          .writing = std::max(0.0, writing_seconds(slow, traffic.written) - writing_seconds(fast, traffic.written))};
}

Seconds op_seconds_with(Seconds in_fast, const MemorySeconds& slow) {
  return std::max(in_fast, slow.reading) + slow.writing;
}

}  // namespace sluice::profile
