// Arithmetic of two operands that broadcast against each other, and the broadcast itself.
#include <cmath>

#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/loops/strided_loop.hpp"
#include "sluice/kernels/onednn/loops/tiling.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

// What is done with an element of a and one of b.
enum class Combine {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,
  kMinimum,
  kPower,
  kModulo,
  kRemainder,
  kEqual,
  kLess,
  kLessOrEqual,
  kFirst
};

// Both are in one order, up to kFirst.
Combine combine_of(graph::BinaryFunction function) {
  static_assert(static_cast<int>(Combine::kFirst) == static_cast<int>(graph::BinaryFunction::kLessOrEqual) + 1);
  return static_cast<Combine>(function);
}

template <int AStep, int BStep, typename T, typename Function>
SLUICE_FORCE_INLINE void combine_steps(const Tile& tile, const T* a, const T* b, T* y, const Function& function) {
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const T* const from_a = a + row * tile.row[0];
    const T* const from_b = b + row * tile.row[1];
    T* const to = y + row * tile.count;
    const float first_a = load(from_a, 0);
    const float first_b = load(from_b, 0);
#pragma omp simd
    for (std::int64_t i = 0; i < tile.count; ++i)
      store(to, i, function(AStep == 0 ? first_a : load(from_a, i), BStep == 0 ? first_b : load(from_b, i)));
  }
}

template <typename T, typename Function>
SLUICE_FORCE_INLINE void combine_tile(const Tile& tile, const T* a, const T* b, T* y, const Function& function) {
  if (tile.step[0] == 1 && tile.step[1] == 1) return combine_steps<1, 1>(tile, a, b, y, function);
  if (tile.step[0] == 1) return combine_steps<1, 0>(tile, a, b, y, function);
  if (tile.step[1] == 1) return combine_steps<0, 1>(tile, a, b, y, function);
  combine_steps<0, 0>(tile, a, b, y, function);
}

template <typename T>
SLUICE_FORCE_INLINE void combine_any(Combine combine, const Tile& tile, const T* a, const T* b, T* y) {
  switch (combine) {
    case Combine::kAdd:
      return combine_tile(tile, a, b, y, [](float p, float q) { return p + q; });
    case Combine::kSubtract:
      return combine_tile(tile, a, b, y, [](float p, float q) { return p - q; });
    case Combine::kMultiply:
      return combine_tile(tile, a, b, y, [](float p, float q) { return p * q; });
    case Combine::kDivide:
      return combine_tile(tile, a, b, y, [](float p, float q) { return p / q; });
    case Combine::kMaximum:  // of NaN and a number NaN
      return combine_tile(tile, a, b, y, [](float p, float q) { return p > q || p != p ? p : q; });
    case Combine::kMinimum:
      return combine_tile(tile, a, b, y, [](float p, float q) { return p < q || p != p ? p : q; });
    case Combine::kPower:
      return combine_tile(tile, a, b, y, [](float p, float q) { return std::pow(p, q); });
    case Combine::kModulo:
      return combine_tile(tile, a, b, y, [](float p, float q) {
        const float rest = std::fmod(p, q);
        return rest != 0.0F && (rest < 0.0F) != (q < 0.0F) ? rest + q : rest;
      });
    case Combine::kRemainder:
      return combine_tile(tile, a, b, y, [](float p, float q) { return std::fmod(p, q); });
    case Combine::kEqual:
      return combine_tile(tile, a, b, y, [](float p, float q) { return p == q ? 1.0F : 0.0F; });
    case Combine::kLess:
      return combine_tile(tile, a, b, y, [](float p, float q) { return p < q ? 1.0F : 0.0F; });
    case Combine::kLessOrEqual:
      return combine_tile(tile, a, b, y, [](float p, float q) { return p <= q ? 1.0F : 0.0F; });
    case Combine::kFirst:
      return combine_tile(tile, a, b, y, [](float p, float /*q*/) { return p; });
  }
}
SLUICE_VECTOR_CLONES void run_tile(Combine combine, const Tile& tile, const float* a, const float* b, float* y) {
  combine_any(combine, tile, a, b, y);
}
SLUICE_VECTOR_CLONES void run_tile(Combine combine, const Tile& tile, const BFloat16* a, const BFloat16* b,
                                   BFloat16* y) {
  combine_any(combine, tile, a, b, y);
}

template <typename T>
void run_tiles(Combine combine, const Tiling& tiling, const T* a, const T* b, T* y) {
  for_rows(tiling.count(), kLoopBlock, [&](std::int64_t index) {
    const Tiling::Place place = tiling.place(index);
    run_tile(combine, place.tile, a + place.from[0], b + place.from[1], y + place.to);
  });
}

// `b` is the index of the second operand.
KernelPtr make_combination(const KernelRequest& request, Combine combine, std::size_t b) {
  const OperandRequest& y = request.outputs[0];
  const BroadcastLayouts layouts = broadcast_layouts(request);
  const auto stored = [&](const graph::Shape& shape) { return stored_shape(shape, layouts.blocked, y.shape.size()); };
  const Tiling tiling(walk_over(stored(y.shape), {stored(request.inputs[0].shape), stored(request.inputs[b].shape)}));
  auto kernel = std::make_unique<LoopKernel>(
      request, [combine, tiling, b, dtype = y.dtype](Operands operands, const StepContext& /*context*/) {
        with_element(dtype, [&]<typename T>(T) {
          run_tiles(combine, tiling, operand<const T>(operands, 0), operand<const T>(operands, b),
                    operand<T>(operands, operands.size() - 1));
        });
        return Status{};
      });
  kernel->inputs = layouts.inputs;
  kernel->outputs = {layouts.output};
  return kernel;
}

KernelPtr make_binary(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_combination(request, combine_of(request.as<graph::BinaryAttributes>().function), 1);
}

KernelPtr make_broadcast(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_combination(request, Combine::kFirst, 0);
}

}  // namespace

KernelMakers binary_kernels() {
  return {
      {graph::OpKind::kBinary, make_binary},
      {graph::OpKind::kBroadcast, make_broadcast},
  };
}

}  // namespace sluice::kernels
