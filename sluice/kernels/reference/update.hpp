// What the reference kernels of all updates share (graph/ops/op_table.hpp).
#pragma once

#include <algorithm>

#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {

// The new parameter once more, where the op has such an output: it is rounded behind (reference_backend.cpp).
inline void write_half(const ReferenceCall& call, std::size_t output) {
  if (output < call.output_count()) std::ranges::copy(call.output<float>(0), call.output<float>(output).begin());
}

inline std::span<const float> factor_operand(const ReferenceCall& call) {
  return call.input<float>(2 + graph::moments_of(call.op().kind));
}

inline float factor_of(const ReferenceCall& call) {
  return graph::is_clipped(call.op()) ? factor_operand(call)[0] : 1.0F;
}

// A delayed update without a gradient yet, or one whose gradients are not finite: everything stays.
inline bool stays(const ReferenceCall& call) {
  const bool waits = call.as<graph::UpdateAttributes>().delayed && call.input<float>(call.input_count() - 1)[0] == 0;
  if (!waits && !(call.as<graph::UpdateAttributes>().scaled && factor_of(call) < 0)) return false;
  const std::size_t moments = graph::moments_of(call.op().kind);
  std::ranges::copy(call.input<float>(0), call.output<float>(0).begin());
  for (std::size_t i = 0; i < moments; ++i) {
    std::ranges::copy(call.input<float>(2 + i), call.output<float>(1 + i).begin());
  }
  write_half(call, 1 + moments);
  return true;
}

}  // namespace sluice::kernels
