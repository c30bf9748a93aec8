// Sums of a matrix's columns: the gradient of a bias.
#pragma once

#include <cstdint>

#include "sluice/graph/ops/tensor.hpp"

namespace sluice::kernels {

// `count` columns from column `first` of a row-major matrix.
struct Columns {
  std::int64_t rows = 0;
  std::int64_t count = 0;
  std::int64_t row_stride = 0;
  std::int64_t first = 0;
};

// sums[c] (+)= the sum of column c, in fp32. `values` are fp32 or bf16. Each column is summed in row order by one
// thread, so the number of threads changes no bit; reads every element once.
void sum_columns(const void* values, graph::DType dtype, const Columns& columns, bool accumulate, float* sums);

}  // namespace sluice::kernels
