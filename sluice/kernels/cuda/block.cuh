// How a GPU runs the three shapes of a kernel (launch.cuh): what the threads of a block do together, and the launches.
// emulated/block.hpp does the same without a GPU, and has to be changed with it.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "sluice/gpu/check_cuda.hpp"
#include "sluice/kernels/cuda/sums.cuh"

namespace sluice::kernels::cuda {

inline constexpr std::int64_t kMostBlocks = 1 << 20;

// What the threads of one block do together. All of them call the same functions in the same order; every function
// gives all threads the same answer.
class Block {
 public:
  // What of_thread(its number) is on every thread, summed in the order of threads.
  template <int N, typename OfThread>
  __device__ Sums<N> sums_of_threads(const OfThread& of_thread) {
    return reduce<N>(of_thread(static_cast<int>(threadIdx.x)), [](float a, float b) { return a + b; });
  }

  // term(k) of k in [0, length), summed in an order that depends on `length` alone.
  template <int N, typename planners::Term>
  __device__ Sums<N> sums(std::int64_t length, const planners::Term& term) {
    return sums_of_threads<N>([&](int thread) {
      Sums<N> mine;
#pragma unroll 4
      for (std::int64_t k = thread; k < length; k += kThreads) {
        const Sums<N> more = term(k);
        for (int i = 0; i < N; ++i) mine.of[i] += more.of[i];
      }
      return mine;
    });
  }

  template <typename planners::Term>
  __device__ float sum(std::int64_t length, const planners::Term& term) {
    return sums<1>(length,
                   [&](std::int64_t k) {
                     Sums<1> one;
                     one.of[0] = term(k);
                     return one;
                   })
        .of[0];
  }

  // The largest term(k); -infinity where there is none.
  template <typename planners::Term>
  __device__ float largest(std::int64_t length, const planners::Term& term) {
    Sums<1> mine{{-INFINITY}};
#pragma unroll 4
    for (std::int64_t k = threadIdx.x; k < length; k += kThreads) mine.of[0] = fmaxf(mine.of[0], term(k));
    return reduce<1>(mine, [](float a, float b) { return fmaxf(a, b); }).of[0];
  }

  // visit(its number) on every thread.
  template <typename Visit>
  __device__ void for_each_thread(const Visit& visit) {
    visit(static_cast<int>(threadIdx.x));
  }

  template <typename Visit>
  __device__ void for_each(std::int64_t length, const Visit& visit) {
    for (std::int64_t k = threadIdx.x; k < length; k += kThreads) visit(k);
  }

  // What for_each() wrote before is seen by what is read after.
  __device__ void sync() { __syncthreads(); }
  // One thread alone may store a row's results.
  __device__ bool leads() const { return threadIdx.x == 0; }

 private:
  // Within every warp, then all warps' in their order.
  template <int N, typename Combine>
  __device__ Sums<N> reduce(Sums<N> value, const Combine& combine) {
    __shared__ Sums<N> of_warp[kThreads / kWarp];
    for (int distance = kWarp / 2; distance > 0; distance /= 2)
      for (float& each : value.of) each = combine(each, __shfl_down_sync(0xffffffffU, each, distance));
    __syncthreads();  // the last call's sums have been read
    if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
    __syncthreads();
    Sums<N> all = of_warp[0];
    for (int warp = 1; warp < kThreads / kWarp; ++warp)
      for (int i = 0; i < N; ++i) all.of[i] = combine(all.of[i], of_warp[warp].of[i]);
    return all;
  }
};

template <typename Visit>
__global__ void elements_kernel(std::int64_t count, Visit visit) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) visit(i);
}

template <typename Body>
__global__ void rows_kernel(std::int64_t rows, Body body) {
  Block block;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) body(row, block);
}

// visit(i) for i in [0, count), each by one thread.
template <typename Visit>
void for_each_element(cudaStream_t stream, std::int64_t count, const Visit& visit) {
  if (count <= 0) return;
  const auto blocks = static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostBlocks));
  elements_kernel<<<blocks, kThreads, 0, stream>>>(count, visit);
  gpu::check_launch();
}

// body(row, block) for every row, each by one block.
template <typename Body>
void for_each_row(cudaStream_t stream, std::int64_t rows, const Body& body) {
  if (rows <= 0) return;
  rows_kernel<<<static_cast<unsigned>(std::min(rows, kMostBlocks)), kThreads, 0, stream>>>(rows, body);
  gpu::check_launch();
}

}  // namespace sluice::kernels::cuda
