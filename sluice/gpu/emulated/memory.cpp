// Memory of an emulated GPU: what is allocated and pinned is known, so that copies of anything else are refused.
//
// The default stream is late like the others, and nobody waits for it who is not told to: that cudaMemcpy() returns
// before all is there, and cudaMemset() at once, is what CUDA's page on synchronization says.
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "sluice/base/units.hpp"
#include "sluice/gpu/emulated/answer.hpp"
#include "sluice/gpu/emulated/stream.hpp"

namespace sluice::gpu {
namespace {

constexpr std::size_t kCapacity = 4 * kGiB;  // of device memory
constexpr std::size_t kAlignment = 256;      // of what is allocated
constexpr int kGarbage = 0xff;               // what fresh memory holds: numbers that are none

// Ranges by their first byte.
class Ranges {
 public:
  bool add(void* data, std::size_t bytes) {
    if (overlaps(data, bytes)) return false;
    bytes_.emplace(static_cast<std::byte*>(data), bytes);
    return true;
  }
  // Of the range that begins there; none where there is none.
  std::optional<std::size_t> remove(void* data) {
    const auto found = bytes_.find(static_cast<std::byte*>(data));
    if (found == bytes_.end()) return std::nullopt;
    const std::size_t bytes = found->second;
    bytes_.erase(found);
    return bytes;
  }
  bool holds(const void* data, std::size_t bytes) const {
    auto next = bytes_.upper_bound(static_cast<std::byte*>(const_cast<void*>(data)));
    if (next == bytes_.begin()) return false;
    --next;
    return static_cast<const std::byte*>(data) + bytes <= next->first + next->second;
  }

 private:
  bool overlaps(const void* data, std::size_t bytes) const {
    const auto next = bytes_.lower_bound(static_cast<std::byte*>(const_cast<void*>(data)));
    return (next != bytes_.end() && next->first < static_cast<const std::byte*>(data) + bytes) || holds(data, 1);
  }

  std::map<std::byte*, std::size_t> bytes_;
};

struct Memory {
  std::mutex mutex;
  Ranges device, pinned, registered;
  std::size_t used = 0;  // of the device's
};

Memory& memory() {
  static auto* const the_one = new Memory;  // what is static elsewhere may free later
  return *the_one;
}

void* allocate(std::size_t bytes) {
  void* data = nullptr;
  if (posix_memalign(&data, kAlignment, bytes) != 0) return nullptr;
  return std::memset(data, kGarbage, bytes);
}

bool on_device(const void* data, std::size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  return memory().device.holds(data, bytes);
}

// What a copy engine reaches.
bool reachable(const void* data, std::size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  return memory().device.holds(data, bytes) || memory().pinned.holds(data, bytes) ||
         memory().registered.holds(data, bytes);
}

}  // namespace
}  // namespace sluice::gpu

using sluice::gpu::answer;
using sluice::gpu::memory;
using sluice::gpu::on_device;
using sluice::gpu::reachable;
using sluice::gpu::recorded_here;

// NOLINTBEGIN(readability-identifier-naming): CUDA's names.

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(memory().mutex);
  *total = sluice::gpu::kCapacity;
  *free = sluice::gpu::kCapacity - memory().used;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  if (recorded_here() != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  const std::lock_guard lock(memory().mutex);
  if (bytes > sluice::gpu::kCapacity - memory().used) return answer(cudaErrorMemoryAllocation);
  *data = sluice::gpu::allocate(bytes);
  if (*data == nullptr) return answer(cudaErrorMemoryAllocation);
  memory().device.add(*data, bytes);
  memory().used += bytes;
  return cudaSuccess;
}

cudaError_t cudaFree(void* data) {
  if (data == nullptr) return cudaSuccess;
  if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) return status;  // as CUDA's does
  const std::lock_guard lock(memory().mutex);
  const auto bytes = memory().device.remove(data);
  if (!bytes) return answer(cudaErrorInvalidValue);
  memory().used -= *bytes;
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned /*flags*/) {
  if (recorded_here() != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  *data = sluice::gpu::allocate(bytes);
  if (*data == nullptr) return answer(cudaErrorMemoryAllocation);
  const std::lock_guard lock(memory().mutex);
  memory().pinned.add(*data, bytes);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) {
  if (data == nullptr) return cudaSuccess;
  if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) return status;
  const std::lock_guard lock(memory().mutex);
  if (!memory().pinned.remove(data)) return answer(cudaErrorInvalidValue);
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned /*flags*/) {
  const std::lock_guard lock(memory().mutex);
  return answer(memory().registered.add(data, bytes) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* data) {
  const std::lock_guard lock(memory().mutex);
  return answer(memory().registered.remove(data) ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

// To the device: from a copy of what is not pinned, which may arrive later. To the host: when it is there.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/) {
  if (recorded_here() != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  const cudaStream_t stream = sluice::gpu::default_stream();
  if (on_device(to, bytes) && !reachable(from, bytes)) {
    const auto* const begin = static_cast<const std::byte*>(from);
    stream->put(
        [to, copy = std::vector<std::byte>(begin, begin + bytes)] { std::memcpy(to, copy.data(), copy.size()); });
    return cudaSuccess;
  }
  stream->put([=] { std::memcpy(to, from, bytes); });
  if (!on_device(to, bytes) || !on_device(from, bytes)) stream->synchronize();
  return cudaSuccess;
}

// Of memory that is not pinned CUDA makes no asynchronous copy: to such it ends before the call does, from such it is
// refused here, because nobody should ask for it.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t stream) {
  if (!reachable(from, bytes)) return answer(cudaErrorInvalidValue);
  stream->put([=] { std::memcpy(to, from, bytes); });
  if (!reachable(to, bytes)) stream->synchronize();
  return cudaSuccess;
}

cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  if (recorded_here() != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  return cudaMemsetAsync(data, value, bytes, sluice::gpu::default_stream());
}

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  if (!reachable(data, bytes)) return answer(cudaErrorInvalidValue);
  stream->put([=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

// NOLINTEND(readability-identifier-naming)
