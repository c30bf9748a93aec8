// A sparse matrix times a tensor along one axis. Seen as [outer, extent, inner], each line [inner] of y is a sum of lines
// of x, in the order of the matrix's terms, by one thread. Along the last axis the loop is the same for one line and for
// many: a slice of the samples has the bits of the whole.
#include "sluice/base/as_index.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

constexpr std::int64_t kSummedColumns = 256, kSummedRows = 256;

struct SparseSpace {
  graph::SharedMatrix matrix;
  std::int64_t outer = 1, inner = 1;
};

template <typename T>
SLUICE_FORCE_INLINE void add_multiple(const T* x, float factor, std::int64_t count, float* sums) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * load(x, i);
}
SLUICE_VECTOR_CLONES void add_multiple_line(const float* x, float factor, std::int64_t count, float* sums) {
  add_multiple(x, factor, count, sums);
}
SLUICE_VECTOR_CLONES void add_multiple_line(const BFloat16* x, float factor, std::int64_t count, float* sums) {
  add_multiple(x, factor, count, sums);
}

// Up to kSummedColumns elements of one line of y. `x` and `y` begin at them, in the first line.
template <typename T>
void sum_lines(const graph::SparseMatrix& matrix, std::int64_t row, std::int64_t inner, std::int64_t count, const T* x,
               T* y) {
  float sums[kSummedColumns] = {};
  for (auto term = matrix.row_starts[row]; term < matrix.row_starts[row + 1]; ++term) {
    add_multiple_line(x + matrix.column_of[term] * inner, matrix.values[term], count, sums);
  }
  for (std::int64_t i = 0; i < count; ++i) store(y, row * inner + i, sums[i]);
}

// Along the last axis: up to kSummedRows elements of one line.
template <typename T>
void sum_within(const graph::SparseMatrix& matrix, std::int64_t first, const T* x, T* y) {
  const std::int64_t end = std::min(first + kSummedRows, matrix.rows());
  for (std::int64_t row = first; row < end; ++row) {
    float sum = 0;
    for (auto term = matrix.row_starts[row]; term < matrix.row_starts[row + 1]; ++term) {
      sum += matrix.values[term] * load(x, matrix.column_of[term]);
    }
    store(y, row, sum);
  }
}

template <typename T>
void multiply(const SparseSpace& space, const T* x, T* y) {
  const graph::SparseMatrix& matrix = *space.matrix;
  const std::int64_t rows = matrix.rows();
  const std::int64_t columns = matrix.columns;
  const std::int64_t inner = space.inner;
  if (inner == 1) {
    const std::int64_t parts = (rows + kSummedRows - 1) / kSummedRows;
    return for_rows(space.outer * parts, std::max(matrix.terms(), rows) / parts, [&](std::int64_t index) {
      const std::int64_t i = index / parts;
      sum_within(matrix, index % parts * kSummedRows, x + i * columns, y + i * rows);
    });
  }
  const std::int64_t parts = (inner + kSummedColumns - 1) / kSummedColumns;
  for_rows(space.outer * rows * parts, std::min(inner, kSummedColumns), [&](std::int64_t index) {
    const std::int64_t column = index % parts * kSummedColumns;
    const std::int64_t i = index / parts / rows;
    const std::int64_t row = index / parts % rows;
    sum_lines(matrix, row, inner, std::min(kSummedColumns, inner - column), x + i * columns * inner + column,
              y + i * rows * inner + column);
  });
}

KernelPtr make_sparse_product(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const auto& [axis, matrix] = request.as<graph::SparseAttributes>();
  SparseSpace space{matrix};
  const graph::Shape& x = request.inputs[0].shape;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (as_id<std::int64_t>(d) < axis) space.outer *= x[d];
    if (as_id<std::int64_t>(d) > axis) space.inner *= x[d];
  }
  return std::make_unique<LoopKernel>(
      request, [space, dtype = request.inputs[0].dtype](Operands operands, const StepContext& /*context*/) {
        with_element(dtype,
                     [&]<typename T>(T) { multiply(space, operand<const T>(operands, 0), operand<T>(operands, 1)); });
        return Status{};
      });
}

}  // namespace

KernelMakers sparse_product_kernels() {
  return {
      {graph::OpKind::kSparseProduct, make_sparse_product},
  };
}

}  // namespace sluice::kernels
