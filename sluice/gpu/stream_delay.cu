#include <cuda_runtime.h>

#include <memory>

#include "sluice/gpu/check_cuda.hpp"
#include "sluice/gpu/stream_delay.hpp"

namespace sluice::gpu {
namespace {

__global__ void delay_kernel(long long nanoseconds) {
  const long long cycles = nanoseconds * 2;  // at two GHz: longer where the clock is slower
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

}  // namespace

void delay_stream(cudaStream_t stream, Seconds seconds) {
  delay_kernel<<<1, 1, 0, stream>>>(static_cast<long long>(seconds * 1e9));
  gpu::check_launch();
}

}  // namespace sluice::gpu
