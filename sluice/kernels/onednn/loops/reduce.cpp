// Sums, means and maxima over some dimensions. After neighbours are joined, dimensions alternate between kept and reduced.
// Where the innermost is reduced, each result is a sum of rows; where it is kept, rows are added up beside each other.
// Every result is made by one thread in the order of memory, so the number of threads changes no bit.
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/loops/strided_loop.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

constexpr std::int64_t kColumns = 256;  // results that are summed beside each other

template <typename T>
SLUICE_FORCE_INLINE float sum(const T* values, std::int64_t count) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t i = 0; i < count; ++i) total += load(values, i);
  return total;
}
SLUICE_VECTOR_CLONES float row_sum(const float* values, std::int64_t count) { return sum(values, count); }
SLUICE_VECTOR_CLONES float row_sum(const BFloat16* values, std::int64_t count) { return sum(values, count); }

template <typename T>
SLUICE_FORCE_INLINE void add_values(const T* values, std::int64_t count, float* totals) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) totals[i] += load(values, i);
}
SLUICE_VECTOR_CLONES void add_to_totals(const float* values, std::int64_t count, float* totals) {
  add_values(values, count, totals);
}
SLUICE_VECTOR_CLONES void add_to_totals(const BFloat16* values, std::int64_t count, float* totals) {
  add_values(values, count, totals);
}

template <typename T>
SLUICE_FORCE_INLINE void keep_larger(const T* values, std::int64_t count, float* largest) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = load(values, i);
    largest[i] = largest[i] > value || largest[i] != largest[i] ? largest[i] : value;
  }
}
SLUICE_VECTOR_CLONES void keep_largest(const float* values, std::int64_t count, float* largest) {
  keep_larger(values, count, largest);
}
SLUICE_VECTOR_CLONES void keep_largest(const BFloat16* values, std::int64_t count, float* largest) {
  keep_larger(values, count, largest);
}

// NaN where there is one.
template <typename T>
float row_maximum(const T* values, std::int64_t count) {
  float largest[kColumns] = {};
  const std::int64_t width = std::min(count, kColumns);
  for (std::int64_t i = 0; i < width; ++i) largest[i] = load(values, i);
  for (std::int64_t begin = width; begin < count; begin += kColumns)
    keep_largest(values + begin, std::min(kColumns, count - begin), largest);
  for (std::int64_t i = 1; i < width; ++i) keep_larger(largest + i, 1, largest);
  return largest[0];
}

// Offsets in x of all indices of some dimensions, in row-major order.
class Offsets {
 public:
  explicit Offsets(std::vector<WalkLevel> levels) : levels_(std::move(levels)) {
    for (const WalkLevel& level : levels_) count_ *= level.extent;
  }
  std::int64_t count() const { return count_; }
  std::int64_t at(std::int64_t index) const {
    std::int64_t offset = 0;
    for (std::size_t i = levels_.size(); i-- > 0;) {
      offset += index % levels_[i].extent * levels_[i].strides[0];
      index /= levels_[i].extent;
    }
    return offset;
  }

 private:
  std::vector<WalkLevel> levels_;
  std::int64_t count_ = 1;
};

// The walk over x: strides[0] are x's, strides[1] y's, which are 0 along reduced dimensions.
struct Reduction {
  explicit Reduction(const std::vector<WalkLevel>& walk) : inner(walk.back()) {
    std::vector<WalkLevel> kept_levels;
    std::vector<WalkLevel> reduced_levels;
    for (std::size_t i = 0; i + 1 < walk.size(); ++i)
      (walk[i].strides[1] == 0 ? reduced_levels : kept_levels).push_back(walk[i]);
    kept = Offsets(kept_levels);
    reduced = Offsets(reduced_levels);
  }

  WalkLevel inner;
  Offsets kept{{}};     // but the innermost level
  Offsets reduced{{}};  // but the innermost level
  float factor = 1;
  bool maximum = false;
};

// The innermost dimension is reduced. Blocks in fp32, their sums in double.
template <typename X, typename Y>
void sum_rows(const Reduction& reduction, const X* x, Y* y) {
  const std::int64_t extent = reduction.inner.extent;
  for_rows(reduction.kept.count(), reduction.reduced.count() * extent, [&](std::int64_t result) {
    const X* const first = x + reduction.kept.at(result);
    double total = 0;
    for (std::int64_t row = 0; row < reduction.reduced.count(); ++row) {
      const X* const values = first + reduction.reduced.at(row);
      for (std::int64_t begin = 0; begin < extent; begin += kLoopBlock)
        total += row_sum(values + begin, std::min(kLoopBlock, extent - begin));
    }
    store(y, result, static_cast<float>(total) * reduction.factor);
  });
}

template <typename X, typename Y>
void largest_of_rows(const Reduction& reduction, const X* x, Y* y) {
  const std::int64_t extent = reduction.inner.extent;
  for_rows(reduction.kept.count(), reduction.reduced.count() * extent, [&](std::int64_t result) {
    const X* const first = x + reduction.kept.at(result);
    float largest = row_maximum(first, extent);
    for (std::int64_t row = 1; row < reduction.reduced.count(); ++row) {
      const float value = row_maximum(first + reduction.reduced.at(row), extent);
      keep_larger(&value, 1, &largest);
    }
    store(y, result, largest);
  });
}

// The innermost dimension is kept. `begin` makes totals of a row, `add` takes another one into them.
template <typename X, typename Y, typename Begin, typename Add>
void reduce_columns(const Reduction& reduction, const X* x, Y* y, const Begin& begin, const Add& add) {
  const std::int64_t extent = reduction.inner.extent;
  const std::int64_t parts = (extent + kColumns - 1) / kColumns;
  for_rows(reduction.kept.count() * parts, reduction.reduced.count() * kColumns, [&](std::int64_t index) {
    const std::int64_t column = index % parts * kColumns;
    const std::int64_t count = std::min(kColumns, extent - column);
    const X* const first = x + reduction.kept.at(index / parts) + column;
    float totals[kColumns] = {};
    begin(first, count, totals);
    for (std::int64_t row = 1; row < reduction.reduced.count(); ++row)
      add(first + reduction.reduced.at(row), count, totals);
    Y* const to = y + index / parts * extent + column;
    for (std::int64_t i = 0; i < count; ++i) store(to, i, totals[i] * reduction.factor);
  });
}

template <typename X, typename Y>
void sum_columns(const Reduction& reduction, const X* x, Y* y) {
  const auto add = [](const X* values, std::int64_t count, float* totals) { add_to_totals(values, count, totals); };
  reduce_columns(reduction, x, y, add, add);
}

template <typename X, typename Y>
void largest_of_columns(const Reduction& reduction, const X* x, Y* y) {
  const auto begin = [](const X* values, std::int64_t count, float* largest) {
    for (std::int64_t i = 0; i < count; ++i) largest[i] = load(values, i);
  };
  const auto keep = [](const X* values, std::int64_t count, float* largest) { keep_largest(values, count, largest); };
  reduce_columns(reduction, x, y, begin, keep);
}

template <typename X, typename Y>
void reduce(const Reduction& reduction, const X* x, Y* y) {
  const bool rows = reduction.inner.strides[1] == 0;
  if (reduction.maximum) return rows ? largest_of_rows(reduction, x, y) : largest_of_columns(reduction, x, y);
  if (rows) return sum_rows(reduction, x, y);
  sum_columns(reduction, x, y);
}

// Blocked images are reduced as they lie where all pixels and nothing else, or all of a channel, are summed up: y then
// has the same bytes in either form.
bool stays_blocked(const KernelRequest& request) {
  const OperandRequest& x = request.inputs[0];
  if (!x.layout || !is_blocked_image(*x.layout) || x.shape[1] % kChannelBlock != 0) return false;
  const graph::Shape y = stored_shape(request.outputs[0].shape, false, 4);
  return y.size() == 4 && y[2] == 1 && y[3] == 1 && y[1] == x.shape[1];
}

Reduction reduction_of(const KernelRequest& request, bool blocked) {
  const graph::Shape& x = request.inputs[0].shape;
  const graph::Shape& y = request.outputs[0].shape;
  const graph::Shape x_stored = stored_shape(x, blocked, x.size());
  Reduction reduction(walk_over(x_stored, {x_stored, stored_shape(y, blocked, x.size())}));
  reduction.maximum = request.as<graph::ReduceAttributes>().function == graph::ReduceFunction::kMaximum;
  if (request.as<graph::ReduceAttributes>().function == graph::ReduceFunction::kMean)
    reduction.factor = static_cast<float>(graph::element_count(y)) / static_cast<float>(graph::element_count(x));
  return reduction;
}

KernelPtr make_reduce(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const OperandRequest& x = request.inputs[0];
  const bool blocked = stays_blocked(request);
  auto kernel = std::make_unique<LoopKernel>(
      request, [reduction = reduction_of(request, blocked), x_type = x.dtype, y_type = request.outputs[0].dtype](
                   Operands operands, const StepContext& /*context*/) {
        with_element(x_type, [&]<typename X>(X) {
          with_element(y_type, [&]<typename Y>(Y) {
            reduce(reduction, operand<const X>(operands, 0), operand<Y>(operands, 1));
          });
        });
        return Status{};
      });
  if (blocked) kernel->inputs = {*x.layout};
  return kernel;
}

}  // namespace

KernelMakers reduce_kernels() {
  return {
      {graph::OpKind::kReduce, make_reduce},
  };
}

}  // namespace sluice::kernels
