#include <cstring>
#include <map>
#include <set>

#include "sluice/base/units.hpp"
#include "sluice/exec/backends/cuda/emulated/stream.hpp"

namespace sluice::cuda {
namespace {

constexpr std::size_t kCapacity = 4 * kGiB;  // of device memory
constexpr std::size_t kAlignment = 512;

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t answer(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// What this process has allocated, pinned and started.
struct Device {
  std::mutex mutex;
  std::map<void*, std::size_t> allocated;  // device memory
  std::set<void*> pinned;                  // allocated by cudaHostAlloc()
  std::set<void*> registered;
  std::set<cudaStream_t> streams;
  std::size_t used = 0;
};

Device& device() {
  static auto* const the_one = new Device;  // streams may end after static objects
  return *the_one;
}

void* allocate(std::size_t bytes) {
  return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

cudaError_t free_of(std::set<void*>& known, void* data) {
  const std::lock_guard lock(device().mutex);
  if (data == nullptr) return cudaSuccess;
  if (known.erase(data) == 0) return cudaErrorInvalidValue;
  std::free(data);
  return cudaSuccess;
}

}  // namespace
}  // namespace sluice::cuda

using sluice::cuda::answer;
using sluice::cuda::device;

// NOLINTBEGIN(readability-identifier-naming): CUDA's names.

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorHostMemoryAlreadyRegistered:
      return "host memory is registered already";
    case cudaErrorHostMemoryNotRegistered:
      return "host memory is not registered";
    case cudaErrorStreamCaptureUnsupported:
      return "not permitted while a stream is captured";
  }
  return "unknown error";
}

cudaError_t cudaGetLastError() { return std::exchange(sluice::cuda::last_error, cudaSuccess); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
  *properties = {.name = "emulated GPU (a processor's threads, for tests)",
                 .memoryBusWidth = 64,
                 .l2CacheSize = 1 << 20,
                 .multiProcessorCount = 1};
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr /*attribute*/, int /*device*/) {
  *value = 1'000'000;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  std::set<cudaStream_t> streams;
  {
    const std::lock_guard lock(device().mutex);
    streams = device().streams;
  }
  for (const cudaStream_t stream : streams) stream->synchronize();
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(device().mutex);
  *total = sluice::cuda::kCapacity;
  *free = sluice::cuda::kCapacity - device().used;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  const std::lock_guard lock(device().mutex);
  if (bytes > sluice::cuda::kCapacity - device().used) return answer(cudaErrorMemoryAllocation);
  *data = sluice::cuda::allocate(bytes);
  if (*data == nullptr) return answer(cudaErrorMemoryAllocation);
  device().allocated.emplace(*data, bytes);
  device().used += bytes;
  return cudaSuccess;
}

cudaError_t cudaFree(void* data) {
  if (data == nullptr) return cudaSuccess;
  cudaDeviceSynchronize();  // as CUDA's does
  const std::lock_guard lock(device().mutex);
  const auto found = device().allocated.find(data);
  if (found == device().allocated.end()) return answer(cudaErrorInvalidValue);
  device().used -= found->second;
  device().allocated.erase(found);
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned /*flags*/) {
  *data = sluice::cuda::allocate(bytes);
  if (*data == nullptr) return answer(cudaErrorMemoryAllocation);
  const std::lock_guard lock(device().mutex);
  device().pinned.insert(*data);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) { return answer(sluice::cuda::free_of(device().pinned, data)); }

cudaError_t cudaHostRegister(void* data, std::size_t /*bytes*/, unsigned /*flags*/) {
  const std::lock_guard lock(device().mutex);
  return answer(device().registered.insert(data).second ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* data) {
  const std::lock_guard lock(device().mutex);
  return answer(device().registered.erase(data) == 1 ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

// At once: like CUDA's default stream, which does not wait for streams that are not blocking.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t stream) {
  stream->put([=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  std::memset(data, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  stream->put([=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags != cudaStreamNonBlocking) return answer(cudaErrorInvalidValue);  // others would wait for the default stream
  *stream = new CUstream_st;
  const std::lock_guard lock(device().mutex);
  device().streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    const std::lock_guard lock(device().mutex);
    if (device().streams.erase(stream) == 0) return answer(cudaErrorInvalidResourceHandle);
  }
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream->captured != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  stream->synchronize();
  return cudaSuccess;
}

// An event that has never been recorded holds nobody.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  if (stream->captured != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  if (event->last != nullptr) stream->put([mark = event->last] { mark->wait(); });
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st{.timed = flags != cudaEventDisableTiming, .last = nullptr};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

// Of a captured stream, an event is recorded anew at every launch if it is external; else it is an edge of the graph, which
// is in order as it is.
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (stream->captured == nullptr) {
    stream->record(*event);
  } else if (flags == cudaEventRecordExternal) {
    stream->captured->calls.emplace_back([event](cudaStream_t launched_on) { launched_on->record(*event); });
  }
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->last != nullptr) event->last->wait();
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  for (const cudaEvent_t event : {begin, end}) {
    if (!event->timed || event->last == nullptr) return answer(cudaErrorInvalidResourceHandle);
    if (!event->last->reached()) return answer(cudaErrorNotReady);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->last->when() - begin->last->when()).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  if (stream->captured != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  stream->captured = std::make_unique<CUgraph_st>();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (stream->captured == nullptr) return answer(cudaErrorInvalidValue);
  *graph = stream->captured.release();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long /*flags*/) {
  *executable = new CUgraph_st(*graph);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  for (const auto& call : executable->calls) call(stream);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) { return cudaGraphDestroy(executable); }

// NOLINTEND(readability-identifier-naming)
