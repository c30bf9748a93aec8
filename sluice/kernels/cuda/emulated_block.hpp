// The three shapes of a kernel (launch.cuh) where a GPU is emulated. Whoever changes them in block.cuh changes them here.
//
// What the threads of a block do together is done by one thread, step by step, with sums in the order of a GPU's. So a
// sync() that is missing does not show, nor that threads who do not lead do what one should. Blocks run out of order,
// always in the same one.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <type_traits>

#include "sluice/gpu/check_cuda.hpp"
#include "sluice/gpu/emulated/stream.hpp"
#include "sluice/kernels/cuda/sums.cuh"

namespace sluice::kernels::cuda {

class Block {
 public:
  template <int N, typename OfThread>
  Sums<N> sums_of_threads(const OfThread& of_thread) {
    std::array<Sums<N>, kThreads> of_threads;
    for (int thread = 0; thread < kThreads; ++thread) of_threads[thread] = of_thread(thread);
    return reduce(of_threads, [](float a, float b) { return a + b; });
  }

  template <int N, typename Term>
  Sums<N> sums(std::int64_t length, const Term& term) {
    return sums_of_threads<N>([&](int thread) {
      Sums<N> mine;
      for (std::int64_t k = thread; k < length; k += kThreads) {
        const Sums<N> more = term(k);
        for (int i = 0; i < N; ++i) mine.of[i] += more.of[i];
      }
      return mine;
    });
  }

  template <typename Term>
  float sum(std::int64_t length, const Term& term) {
    return sums<1>(length, [&](std::int64_t k) { return Sums<1>{{term(k)}}; }).of[0];
  }

  template <typename Term>
  float largest(std::int64_t length, const Term& term) {
    float most = -INFINITY;
    for (std::int64_t k = 0; k < length; ++k) most = fmaxf(most, term(k));
    return most;
  }

  template <typename Visit>
  void for_each_thread(const Visit& visit) {
    for (int thread = kThreads; thread-- > 0;) visit(thread);
  }

  template <typename Visit>
  void for_each(std::int64_t length, const Visit& visit) {
    for (std::int64_t k = length; k-- > 0;) visit(k);
  }

  void sync() {}
  bool leads() const { return true; }

 private:
  // As __shfl_down_sync() adds: halves within every warp, then all warps' in their order.
  template <int N, typename Combine>
  static Sums<N> reduce(std::array<Sums<N>, kThreads>& values, const Combine& combine) {
    Sums<N> all;
    for (int warp = 0; warp < kThreads / kWarp; ++warp) {
      Sums<N>* const lanes = &values[warp * kWarp];
      for (int distance = kWarp / 2; distance > 0; distance /= 2)
        for (int lane = 0; lane < distance; ++lane)
          for (int i = 0; i < N; ++i) lanes[lane].of[i] = combine(lanes[lane].of[i], lanes[lane + distance].of[i]);
      for (int i = 0; i < N; ++i) all.of[i] = warp == 0 ? lanes[0].of[i] : combine(all.of[i], lanes[0].of[i]);
    }
    return all;
  }
};

// visit(i) for i in [0, count): first the odd ones, from the last to the first, then the even ones.
template <typename Visit>
void visit_out_of_order(std::int64_t count, const Visit& visit) {
  for (std::int64_t i = count - 1 - count % 2; i > 0; i -= 2) visit(i);
  for (std::int64_t i = 0; i < count; i += 2) visit(i);
}

// What a launch copies to the device: plain data, in the room that there is for a kernel's parameters.
template <typename Kernel>
inline constexpr bool kCanBeLaunched = std::is_trivially_copyable_v<Kernel> && sizeof(Kernel) <= 4000;

template <typename Visit>
void for_each_element(cudaStream_t stream, std::int64_t count, const Visit& visit) {
  static_assert(kCanBeLaunched<Visit>);
  if (count <= 0) return;
  stream->put([count, visit] { visit_out_of_order(count, visit); });
  gpu::check_launch();
}

template <typename Body>
void for_each_row(cudaStream_t stream, std::int64_t rows, const Body& body) {
  static_assert(kCanBeLaunched<Body>);
  if (rows <= 0) return;
  stream->put([rows, body] {
    Block block;
    visit_out_of_order(rows, [&](std::int64_t row) { body(row, block); });
  });
  gpu::check_launch();
}

}  // namespace sluice::kernels::cuda
