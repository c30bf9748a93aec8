// Samples of memory accesses, as the processor takes them, and the kernel's records that carry them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::memory {

// One access that missed the TLB; it stands for `weight` of its kind.
struct MemorySample {
  std::uintptr_t address = 0;
  bool write = false;
  std::int64_t weight = 1;
  bool operator==(const MemorySample&) const = default;
};

// Where samples come from: the processor (hardware_sampling.hpp), or a test's own source. Calling thread only.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual void start() = 0;
  virtual void stop() = 0;
  virtual std::vector<MemorySample> drain() = 0;  // those since the last call; only between stop() and start()
  virtual std::vector<std::string> notes() const = 0;
};

// What a run of the kernel's perf records says. `lost` counts samples that the kernel had no room for.
struct DecodedSamples {
  std::vector<MemorySample> samples;
  std::int64_t lost = 0;
};
// `records` begin and end at a record's border and carry address, period and data source.
DecodedSamples decode_samples(std::span<const std::byte> records);

// The codes that perf_event_open() takes for an event that sysfs describes as "event=0xcd,umask=0x1,ldlat=3".
// parse_event() returns nothing for a description with terms other than these three.
struct EventCode {
  std::uint64_t config = 0;
  std::uint64_t config1 = 0;
};
std::optional<EventCode> parse_event(const std::string& description);

}  // namespace sluice::memory
