// Sums down the columns of a matrix, read along its rows so that neighbouring threads read neighbouring elements.
#pragma once

#include "sluice/kernels/cuda/launch.cuh"

namespace sluice::kernels::cuda {

// Into how many parts the rows are cut.
inline std::int64_t parts_of_rows(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kWantedThreads = 1 << 17;
  constexpr std::int64_t kLeastRows = 16;
  const std::int64_t wanted = kWantedThreads / std::max<std::int64_t>(columns, 1) + 1;
  return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(rows / kLeastRows, 1));
}

inline std::int64_t sum_columns_workspace(std::int64_t rows, std::int64_t columns) {
  return columns * parts_of_rows(rows, columns) * static_cast<std::int64_t>(sizeof(float));
}

// store(column, the sum of term(row, column) over all rows), in an order that the sizes fix.
template <typename Term, typename Store>
void sum_columns(cudaStream_t stream, std::int64_t rows, std::int64_t columns, void* workspace, const Term& term,
                 const Store& store) {
  const std::int64_t parts = parts_of_rows(rows, columns);
  auto* const partial = static_cast<float*>(workspace);
  for_each_element(stream, parts * columns, [=] __device__(std::int64_t i) {
    const std::int64_t part = i / columns;
    const std::int64_t column = i % columns;
    float sum = 0;
    for (std::int64_t row = part * rows / parts; row < (part + 1) * rows / parts; ++row) sum += term(row, column);
    partial[i] = sum;
  });
  for_each_element(stream, columns, [=] __device__(std::int64_t column) {
    float sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += partial[part * columns + column];
    store(column, sum);
  });
}

}  // namespace sluice::kernels::cuda
