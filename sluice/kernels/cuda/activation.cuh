// Fused activations (op.hpp) on the device. NaN stays NaN, as in the reference.
#pragma once

#include <cuda_runtime.h>

#include "sluice/graph/ops/op.hpp"

namespace sluice::kernels::cuda {

__device__ inline float activate(graph::Activation activation, float value) {
  if (activation == graph::Activation::kNone) return value;
  if (value < 0) return 0;
  return activation == graph::Activation::kRelu6 && value > 6 ? 6.0F : value;
}

// Whether a gradient passes where `value` was activated.
__device__ inline bool passes(graph::Activation activation, float value) {
  if (activation == graph::Activation::kNone) return true;
  return value > 0 && (activation == graph::Activation::kRelu || value < 6);
}

}  // namespace sluice::kernels::cuda
