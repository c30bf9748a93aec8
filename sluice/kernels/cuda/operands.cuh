// A call's operands, in the form that a kernel's lambda captures.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "sluice/kernels/cuda/cells.cuh"
#include "sluice/kernels/cuda/cuda_kernels.hpp"

namespace sluice::kernels::cuda {

inline Cells cells(const Operand& operand) { return {operand.data, operand.bf16()}; }
// Of operands that are fp32 in every graph.
inline float* floats(const Operand& operand) { return static_cast<float*>(operand.data); }
inline std::int32_t* integers(const Operand& operand) { return static_cast<std::int32_t*>(operand.data); }

}  // namespace sluice::kernels::cuda
