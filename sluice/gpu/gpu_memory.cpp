#include "sluice/gpu/gpu_memory.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "sluice/base/as_index.hpp"

namespace sluice::gpu {
namespace {

Error refused(const std::string& what, cudaError_t status) {
  return {ErrorCode::kIo, fmt::format("{}: {}", what, cudaGetErrorString(status))};
}

void free_device(std::byte* data, Bytes /*bytes*/) { cudaFree(data); }
void free_pinned(std::byte* data, Bytes /*bytes*/) { cudaFreeHost(data); }

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace

Result<memory::GpuFacts> find_gpu() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("there is no NVIDIA GPU to compute on: {}; see nvidia-smi, or leave out --gpu",
                             status == cudaSuccess ? "the driver knows no device" : cudaGetErrorString(status))};
  }
  cudaDeviceProp properties{};
  std::size_t free = 0;
  std::size_t total = 0;
  int driver = 0;
  int memory_kilohertz = 0;
  cudaGetDeviceProperties(&properties, 0);
  cudaDriverGetVersion(&driver);
  cudaDeviceGetAttribute(&memory_kilohertz, cudaDevAttrMemoryClockRate, 0);
  if (const cudaError_t asked = cudaMemGetInfo(&free, &total); asked != cudaSuccess)
    return refused("the GPU does not say how much memory it has", asked);
  // Two transfers a clock.
  const double bandwidth = 2e3 * memory_kilohertz * properties.memoryBusWidth / 8;
  return memory::GpuFacts{
      properties.name, version_text(driver),   static_cast<Bytes>(total),     static_cast<Bytes>(free),
      bandwidth,       properties.l2CacheSize, properties.multiProcessorCount};
}

Result<memory::Arena> map_device_arena(Bytes bytes, const std::string& name) {
  bytes = align_down(bytes, memory::kBlockAlignment);
  if (bytes <= 0) return memory::Arena();
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, as_index(bytes));
  if (status == cudaSuccess) return memory::Arena::adopt(static_cast<std::byte*>(data), bytes, free_device);
  cudaGetLastError();  // forgets it
  std::size_t free = 0;
  std::size_t total = 0;
  cudaMemGetInfo(&free, &total);
  return Error{ErrorCode::kOutOfSpace,
               fmt::format("no {} of device memory for the arena of tier '{}': {} of {} are free ({}); ask for less "
                           "with --fast, or end what else uses the GPU",
                           format_bytes(bytes), name, format_bytes(static_cast<Bytes>(free)),
                           format_bytes(static_cast<Bytes>(total)), cudaGetErrorString(status))};
}

Result<memory::Arena> map_pinned_arena(Bytes bytes, const std::string& name) {
  bytes = align_down(bytes, memory::kBlockAlignment);
  if (bytes <= 0) return memory::Arena();
  void* data = nullptr;
  const cudaError_t status = cudaHostAlloc(&data, as_index(bytes), cudaHostAllocPortable);
  if (status == cudaSuccess) return memory::Arena::adopt(static_cast<std::byte*>(data), bytes, free_pinned);
  cudaGetLastError();
  return Error{ErrorCode::kOutOfSpace,
               fmt::format("no {} of pinned host memory for the arena of tier '{}' ({}); make more memory free, or put "
                           "part of it on disk with a further --slow file",
                           format_bytes(bytes), name, cudaGetErrorString(status))};
}

Status copy_gpu_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  // Of memory that is not pinned it returns while the last bytes are on their way, and no stream of ours waits for them.
  cudaError_t status = cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
  if (status == cudaSuccess) status = cudaDeviceSynchronize();
  return status == cudaSuccess ? Status() : Status(refused("a copy to or from the GPU failed", status));
}

Status clear_gpu_bytes(void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  cudaError_t status = cudaMemset(from, 0, bytes);
  if (status == cudaSuccess) status = cudaDeviceSynchronize();
  return status == cudaSuccess ? Status() : Status(refused("GPU memory could not be cleared", status));
}

}  // namespace sluice::gpu
