#include "sluice/probe/gpu_probe.hpp"

#include <algorithm>
#include <array>

#include "sluice/base/as_index.hpp"
#include "sluice/base/spread.hpp"
#include "sluice/gpu/gpu_memory.hpp"
#include "sluice/kernels/cuda/context.hpp"
#include "sluice/probe/gpu_load.hpp"

namespace sluice::probe {
namespace {

using gpu::check;

constexpr Bytes kCopied = 256 * kMiB;
constexpr Bytes kSmallCopy = memory::kBlockAlignment;
constexpr int kCopies = 4;
constexpr int kGpuRounds = 5;

double middle(const std::vector<double>& values) { return spread_of(values).median; }

// A stream with the copies of one direction.
class CopyStream {
 public:
  CopyStream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    check(cudaEventCreate(&begin_), "making an event");
    check(cudaEventCreate(&end_), "making an event");
  }
  ~CopyStream() {
    cudaStreamDestroy(stream_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  CopyStream(const CopyStream&) = delete;
  CopyStream& operator=(const CopyStream&) = delete;

  void put(void* to, const void* from, Bytes bytes, int times) const {
    check(cudaEventRecord(begin_, stream_), "recording a time");
    for (int i = 0; i < times; ++i) {
      check(cudaMemcpyAsync(to, from, as_index(bytes), cudaMemcpyDefault, stream_), "a copy");
    }
    check(cudaEventRecord(end_, stream_), "recording a time");
  }

  Seconds wait() const {
    check(cudaStreamSynchronize(stream_), "waiting for a copy");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "reading a time");
    return milliseconds * 1e-3;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

struct DirectionFigures {
  BytesPerSecond alone = 0;   // beside compute
  BytesPerSecond shared = 0;  // both ways at once
  Seconds latency = 0;
  Seconds lost_per_byte = 0;  // of compute
};

// Load that takes longer than the copies beside it.
constexpr int kLoadRounds = 80;

// Seconds of the load, timed on its own stream.
class TimedLoad {
 public:
  TimedLoad(const kernels::cuda::Context& context, const GpuLoad& load) : context_(context), load_(load) {
    check(cudaEventCreate(&begin_), "making an event");
    check(cudaEventCreate(&end_), "making an event");
  }
  ~TimedLoad() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  void put() const {
    check(cudaEventRecord(begin_, context_.stream()), "recording a time");
    load_.put(kLoadRounds);
    check(cudaEventRecord(end_, context_.stream()), "recording a time");
  }

  Seconds wait() const {
    check(cudaEventSynchronize(end_), "waiting for the load");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "reading a time");
    return milliseconds * 1e-3;
  }

 private:
  const kernels::cuda::Context& context_;
  const GpuLoad& load_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

// Into the device, and out of it.
std::array<DirectionFigures, 2> measure_directions(const memory::Arena& device, const memory::Arena& host,
                                                   const TimedLoad& load) {
  const std::array<CopyStream, 2> streams;
  std::byte* const device_half = device.data() + kCopied;
  std::byte* const host_half = host.data() + kCopied;
  const auto put = [&](std::size_t direction, Bytes bytes, int times) {
    if (direction == 0) {
      streams[0].put(device.data(), host.data(), bytes, times);
    } else {
      streams[1].put(host_half, device_half, bytes, times);
    }
  };
  std::array<std::vector<double>, 2> alone, shared, latency, lost;
  constexpr double kMoved = kCopies * static_cast<double>(kCopied);
  for (int round = 0; round < kGpuRounds; ++round) {
    for (std::size_t direction = 0; direction < 2; ++direction) {
      put(direction, kSmallCopy, 1);
      latency[direction].push_back(streams[direction].wait());
      load.put();
      const Seconds by_itself = load.wait();
      load.put();
      put(direction, kCopied, kCopies);
      alone[direction].push_back(kMoved / streams[direction].wait());
      lost[direction].push_back(std::max(0.0, load.wait() - by_itself) / kMoved);
    }
    put(0, kCopied, kCopies);
    put(1, kCopied, kCopies);
    for (std::size_t direction = 0; direction < 2; ++direction)
      shared[direction].push_back(kMoved / streams[direction].wait());
  }
  std::array<DirectionFigures, 2> figures;
  for (std::size_t i = 0; i < 2; ++i)
    figures[i] = {middle(alone[i]), middle(shared[i]), middle(latency[i]), middle(lost[i])};
  return figures;
}

}  // namespace

Status measure_gpu_links(memory::Machine& machine, std::span<const memory::LinkId> links) {
  SLUICE_ASSIGN(const memory::Arena device, gpu::map_device_arena(2 * kCopied, "probe"));
  SLUICE_ASSIGN(const memory::Arena host, gpu::map_pinned_arena(2 * kCopied, "probe"));
  SLUICE_ASSIGN(const std::shared_ptr<kernels::cuda::Context> context, kernels::cuda::Context::get());
  SLUICE_ASSIGN(const GpuLoad load, GpuLoad::make(*context));
  try {
    const TimedLoad timed(*context, load);
    const auto figures = measure_directions(device, host, timed);
    for (const memory::LinkId id : links) {
      memory::Link& link = machine.links[as_index(id)];
      const DirectionFigures& measured = figures[link.to == memory::kFastTier ? 0 : 1];
      link.bandwidth = measured.alone;
      link.shared_bandwidth = links.size() == 2 ? std::min(measured.alone, measured.shared) : 0;
      link.latency = measured.latency;
      link.interference = measured.lost_per_byte;
      link.provenance = memory::Provenance::kMeasured;
    }
    return {};
  } catch (const gpu::CudaFailure& failure) {
    return Error{ErrorCode::kIo, std::string("measuring the GPU's links failed: ") + failure.what()};
  }
}

Status measure_gpu_memory(memory::Tier& tier) {
  SLUICE_ASSIGN(const memory::Arena device, gpu::map_device_arena(2 * kCopied, "probe"));
  try {
    const CopyStream stream;
    std::vector<double> moved;
    for (int round = 0; round < kGpuRounds; ++round) {
      stream.put(device.data() + kCopied, device.data(), kCopied, kCopies);
      moved.push_back(2 * kCopies * static_cast<double>(kCopied) / stream.wait());
    }
    tier.read_bandwidth = tier.write_bandwidth = middle(moved);
    tier.provenance = memory::Provenance::kMeasured;
    return {};
  } catch (const gpu::CudaFailure& failure) {
    return Error{ErrorCode::kIo, std::string("measuring the GPU's memory failed: ") + failure.what()};
  }
}

}  // namespace sluice::probe
