// Of two operands the first where a third is not 0, else the second; all broadcast against each other. What is not chosen
// is never computed with.
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/loops/strided_loop.hpp"
#include "sluice/kernels/onednn/loops/tiling.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

template <typename T>
struct SelectRow {
  const T *condition, *a, *b;
  T* y;
};

template <int AStep, int BStep, typename T>
SLUICE_FORCE_INLINE void select_steps(const SelectRow<T>& row, std::int64_t count) {
  const float first_a = load(row.a, 0);
  const float first_b = load(row.b, 0);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float a = AStep == 0 ? first_a : load(row.a, i);
    const float b = BStep == 0 ? first_b : load(row.b, i);
    store(row.y, i, load(row.condition, i) != 0.0F ? a : b);
  }
}

// All of one side: the condition is one for the row.
template <typename T>
SLUICE_FORCE_INLINE void copy_side(const T* side, std::int64_t step, std::int64_t count, T* y) {
  const float first = load(side, 0);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) store(y, i, step == 0 ? first : load(side, i));
}

template <typename T>
SLUICE_FORCE_INLINE void select_row(const SelectRow<T>& row, const Tile& tile) {
  if (tile.step[0] == 0) {
    const bool first = load(row.condition, 0) != 0.0F;
    return copy_side(first ? row.a : row.b, tile.step[first ? 1 : 2], tile.count, row.y);
  }
  if (tile.step[1] == 1 && tile.step[2] == 1) return select_steps<1, 1>(row, tile.count);
  if (tile.step[1] == 1) return select_steps<1, 0>(row, tile.count);
  if (tile.step[2] == 1) return select_steps<0, 1>(row, tile.count);
  select_steps<0, 0>(row, tile.count);
}

template <typename T>
SLUICE_FORCE_INLINE void select_rows(const SelectRow<T>& first, const Tile& tile) {
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    select_row(SelectRow<T>{first.condition + i * tile.row[0], first.a + i * tile.row[1], first.b + i * tile.row[2],
                            first.y + i * tile.count},
               tile);
  }
}
SLUICE_VECTOR_CLONES void select_tile(const SelectRow<float>& first, const Tile& tile) { select_rows(first, tile); }
SLUICE_VECTOR_CLONES void select_tile(const SelectRow<BFloat16>& first, const Tile& tile) { select_rows(first, tile); }

template <typename T>
void run_select(const Tiling& tiling, Operands operands) {
  const T* const condition = operand<const T>(operands, 0);
  const T* const a = operand<const T>(operands, 1);
  const T* const b = operand<const T>(operands, 2);
  T* const y = operand<T>(operands, 3);
  for_rows(tiling.count(), kLoopBlock, [&](std::int64_t index) {
    const Tiling::Place place = tiling.place(index);
    select_tile(SelectRow<T>{condition + place.from[0], a + place.from[1], b + place.from[2], y + place.to},
                place.tile);
  });
}

KernelPtr make_select(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const OperandRequest& y = request.outputs[0];
  const BroadcastLayouts layouts = broadcast_layouts(request);
  std::vector<graph::Shape> inputs;
  for (const OperandRequest& input : request.inputs) {
    inputs.push_back(stored_shape(input.shape, layouts.blocked, y.shape.size()));
  }
  const Tiling tiling(walk_over(stored_shape(y.shape, layouts.blocked, y.shape.size()), inputs));
  auto kernel = std::make_unique<LoopKernel>(
      request, [tiling, dtype = y.dtype](Operands operands, const StepContext& /*context*/) {
        with_element(dtype, [&]<typename T>(T) { run_select<T>(tiling, operands); });
        return Status{};
      });
  kernel->inputs = layouts.inputs;
  kernel->outputs = {layouts.output};
  return kernel;
}

}  // namespace

KernelMakers select_kernels() {
  return {
      {graph::OpKind::kSelect, make_select},
  };
}

}  // namespace sluice::kernels
