// The three shapes of a kernel: for each element, for each row with sums within it, and sums of long rows by many
// blocks. What a kernel computes is a lambda; how its threads are laid out is decided here, from sizes alone, so that
// the same op adds in the same order on every launch.
//
// Threads: a launch is asynchronous on the stream it is given. Errors of a launch throw (check_launch).
#pragma once

#include <algorithm>
#include <cstdint>

#include "sluice/kernels/cuda/sums.cuh"
#ifndef SLUICE_EMULATED_CUDA
#include "sluice/kernels/cuda/block.cuh"
#else
#include "sluice/kernels/cuda/emulated_block.hpp"
#endif

namespace sluice::kernels::cuda {

// Into how many parts a row of `length` is cut, so that `rows` rows keep the whole device busy.
inline std::int64_t parts_of_row(std::int64_t rows, std::int64_t length) {
  constexpr std::int64_t kWantedBlocks = 1024;
  constexpr std::int64_t kLeastPart = 8 * kThreads;
  const std::int64_t wanted = (kWantedBlocks + rows - 1) / std::max<std::int64_t>(rows, 1);
  return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(length / kLeastPart, 1));
}

// Of sum_rows(): N floats for every part.
template <int N>
constexpr std::int64_t sum_rows_workspace(std::int64_t rows, std::int64_t length) {
  return rows * parts_of_row(rows, length) * N * static_cast<std::int64_t>(sizeof(float));
}

// store(row, the sums of term(row, k) over k in [0, length)), each row by as many blocks as pay. store() is called by
// one thread for each row, when all terms have been read.
template <int N, typename Term, typename Store>
void sum_rows(cudaStream_t stream, std::int64_t rows, std::int64_t length, void* workspace, const Term& term,
              const Store& store) {
  const std::int64_t parts = parts_of_row(rows, length);
  auto* const partial = static_cast<Sums<N>*>(workspace);
  for_each_row(stream, rows * parts, [=] __device__(std::int64_t part, Block & block) {
    const std::int64_t row = part / parts;
    const std::int64_t begin = part % parts * length / parts;
    const std::int64_t end = (part % parts + 1) * length / parts;
    const Sums<N> sums = block.template sums<N>(end - begin, [&](std::int64_t k) { return term(row, begin + k); });
    if (block.leads()) partial[part] = sums;
  });
  for_each_element(stream, rows, [=] __device__(std::int64_t row) {
    Sums<N> all;
    for (std::int64_t part = row * parts; part < (row + 1) * parts; ++part)
      for (int i = 0; i < N; ++i) all.of[i] += partial[part].of[i];
    store(row, all);
  });
}

}  // namespace sluice::kernels::cuda
