#include "sluice/memory/observe/hardware_sampling.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "sluice/base/parse.hpp"

namespace sluice::memory {
namespace {

constexpr std::uint64_t kPeriod = 4096;  // accesses (AMD: operations) a sample; AMD wants a multiple of 16
constexpr std::size_t kPage = 4096;
constexpr std::size_t kBufferPages = 64;  // a power of two
const std::filesystem::path kEventSources = "/sys/bus/event_source/devices";

struct SampledEvent {
  std::uint32_t type = 0;
  EventCode code;
  bool precise = true;
};

std::optional<std::string> read_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::uint32_t> event_type(const std::string& source) {
  const auto line = read_line(kEventSources / source / "type");
  const auto type = parse_integer(line.value_or(""), 0, std::numeric_limits<std::uint32_t>::max());
  return type.ok() ? std::optional(static_cast<std::uint32_t>(*type)) : std::nullopt;
}

// AMD has one event for loads and stores, Intel one for each.
std::vector<SampledEvent> find_events() {
  if (const auto type = event_type("ibs_op")) return {{*type, {}, false}};
  std::vector<SampledEvent> events;
  for (const char* source : {"cpu", "cpu_core"}) {
    const auto type = event_type(source);
    if (!type) continue;
    for (const char* name : {"mem-loads", "mem-stores"}) {
      const auto description = read_line(kEventSources / source / "events" / name);
      const auto code = description ? parse_event(*description) : std::nullopt;
      if (code) events.push_back({*type, *code, true});
    }
  }
  return events;
}

// The buffer in which the kernel leaves the samples of one event of one thread.
class SampleBuffer {
 public:
  static Result<SampleBuffer> open(const SampledEvent& event, pid_t thread) {
    perf_event_attr attributes = {};
    attributes.type = event.type;
    attributes.size = sizeof(attributes);
    attributes.config = event.code.config;
    attributes.config1 = event.code.config1;
    attributes.sample_period = kPeriod;
    attributes.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_DATA_SRC;
    attributes.disabled = 1;
    attributes.exclude_kernel = event.precise ? 1 : 0;  // IBS cannot leave the kernel out by itself
    attributes.exclude_hv = event.precise ? 1 : 0;
    attributes.precise_ip = event.precise ? 2 : 0;
    const long descriptor = ::syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("the kernel refuses to sample memory accesses: {} (kernel.perf_event_paranoid is {})",
                               std::strerror(errno), read_line("/proc/sys/kernel/perf_event_paranoid").value_or("?"))};
    }
    SampleBuffer buffer(static_cast<int>(descriptor));
    void* const mapping = ::mmap(nullptr, mapping_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, buffer.descriptor_, 0);
    if (mapping == MAP_FAILED) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("no room for samples of memory accesses: {}; raise kernel.perf_event_mlock_kb",
                               std::strerror(errno))};
    }
    buffer.mapping_ = static_cast<std::byte*>(mapping);
    return buffer;
  }

  ~SampleBuffer() {
    if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes());
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  SampleBuffer(SampleBuffer&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), mapping_(std::exchange(other.mapping_, nullptr)) {}
  SampleBuffer& operator=(SampleBuffer&&) = delete;

  void enable(bool on) const { ::ioctl(descriptor_, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0); }

  DecodedSamples drain() const {
    auto& page = *reinterpret_cast<perf_event_mmap_page*>(mapping_);
    const std::uint64_t head = std::atomic_ref(page.data_head).load(std::memory_order_acquire);
    const std::uint64_t tail = page.data_tail;
    std::vector<std::byte> records(head - tail);
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i] = mapping_[kPage + (tail + i) % (kBufferPages * kPage)];
    }
    std::atomic_ref(page.data_tail).store(head, std::memory_order_release);
    return decode_samples(records);
  }

 private:
  explicit SampleBuffer(int descriptor) : descriptor_(descriptor) {}
  static constexpr std::size_t mapping_bytes() { return (1 + kBufferPages) * kPage; }

  int descriptor_ = -1;
  std::byte* mapping_ = nullptr;
};

class HardwareSampler : public SampleSource {
 public:
  explicit HardwareSampler(std::vector<SampleBuffer> buffers) : buffers_(std::move(buffers)) {}

  void start() override {
    for (const SampleBuffer& buffer : buffers_) buffer.enable(true);
  }
  void stop() override {
    for (const SampleBuffer& buffer : buffers_) buffer.enable(false);
  }
  std::vector<MemorySample> drain() override {
    std::vector<MemorySample> all;
    for (const SampleBuffer& buffer : buffers_) {
      const DecodedSamples decoded = buffer.drain();
      all.insert(all.end(), decoded.samples.begin(), decoded.samples.end());
      lost_ += decoded.lost;
    }
    return all;
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> all = {fmt::format("one access in {} was sampled: counts are estimates", kPeriod)};
    if (lost_ > 0) all.push_back(fmt::format("{} samples were lost: counts are too low", lost_));
    return all;
  }

 private:
  std::vector<SampleBuffer> buffers_;
  std::int64_t lost_ = 0;
};

}  // namespace

Result<std::unique_ptr<SampleSource>> open_hardware_sampler() {
  const std::vector<SampledEvent> events = find_events();
  if (events.empty()) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("this machine offers no sampling of memory accesses ({} has neither ibs_op nor mem-loads; "
                             "virtual machines usually hide them): count by page protection instead",
                             kEventSources.string())};
  }
  std::vector<SampleBuffer> buffers;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    SLUICE_ASSIGN(const std::int64_t id, parse_integer(thread.path().filename().string()));
    for (const SampledEvent& event : events) {
      SLUICE_ASSIGN(SampleBuffer buffer, SampleBuffer::open(event, static_cast<int>(id)));
      buffers.push_back(std::move(buffer));
    }
  }
  return std::unique_ptr<SampleSource>(std::make_unique<HardwareSampler>(std::move(buffers)));
}

}  // namespace sluice::memory
