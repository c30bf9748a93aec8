// Fused activations (Attributes::activation) on the device. NaN stays NaN, as in the reference.
#pragma once

#include <cuda_runtime.h>

#include "sluice/graph/op.hpp"

namespace sluice::cuda {

__device__ inline float activate(Activation activation, float value) {
  if (activation == Activation::kNone) return value;
  if (value < 0) return 0;
  return activation == Activation::kRelu6 && value > 6 ? 6.0F : value;
}

// Whether a gradient passes where `value` was activated.
__device__ inline bool passes(Activation activation, float value) {
  if (activation == Activation::kNone) return true;
  return value > 0 && (activation == Activation::kRelu || value < 6);
}

}  // namespace sluice::cuda
