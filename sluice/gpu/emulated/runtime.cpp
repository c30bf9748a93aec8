// Streams, events and graphs of an emulated GPU, and what it says of itself.
#include <algorithm>
#include <utility>

#include "sluice/gpu/emulated/answer.hpp"
#include "sluice/gpu/emulated/stream.hpp"

namespace sluice::gpu {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t answer(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace sluice::gpu

using sluice::gpu::answer;
using sluice::gpu::recorded_here;

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
    case cudaErrorCapturedEvent:
      return "the event is part of a graph";
    case cudaErrorStreamCaptureUnsupported:
      return "not permitted while a stream is captured";
  }
  return "unknown error";
}

cudaError_t cudaGetLastError() { return std::exchange(sluice::gpu::last_error, cudaSuccess); }

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
  if (recorded_here() != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  for (const cudaStream_t stream : sluice::gpu::all_streams()) stream->synchronize();
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags != cudaStreamNonBlocking) return answer(cudaErrorInvalidValue);  // others would wait for the default stream
  *stream = new CUstream_st;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
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
  if (event->captured) return answer(cudaErrorCapturedEvent);
  if (event->last != nullptr) stream->put([mark = event->last] { mark->wait(); });
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st{.timed = flags != cudaEventDisableTiming};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

// On a captured stream an external event is recorded anew at every launch. Another becomes an edge of the graph, which is
// in order as it is, and serves nobody outside.
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (stream->captured == nullptr) {
    stream->record(*event);
  } else if (flags == cudaEventRecordExternal) {
    stream->captured->calls.emplace_back([event](cudaStream_t launched_on) { launched_on->record(*event); });
  } else {
    event->captured = true;
  }
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->captured) return answer(cudaErrorCapturedEvent);
  if (event->last != nullptr) sluice::gpu::wait_on_host(*event->last);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  for (const cudaEvent_t event : {begin, end}) {
    if (event->captured) return answer(cudaErrorCapturedEvent);
    if (!event->timed || event->last == nullptr) return answer(cudaErrorInvalidResourceHandle);
    if (!event->last->reached()) return answer(cudaErrorNotReady);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->last->when() - begin->last->when()).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  if (stream->captured != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  stream->captured = std::make_unique<CUgraph_st>();
  recorded_here() = stream;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (stream->captured == nullptr) return answer(cudaErrorInvalidValue);
  *graph = stream->captured.release();
  recorded_here() = nullptr;
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
