// Elements from one floating type to another, in order: casts, and the fp32 copies of fp16 operands (fp16_kernel.hpp).
//
// Rounding is that of bf16.hpp and fp16.hpp. Shared between all threads, in blocks.
#pragma once

#include <cstdint>

#include "sluice/kernels/bf16.hpp"
#include "sluice/kernels/fp16.hpp"

namespace sluice::kernels {

void convert(const float* from, std::int64_t count, BFloat16* to);
void convert(const BFloat16* from, std::int64_t count, float* to);
void convert(const float* from, std::int64_t count, Float16* to);
void convert(const Float16* from, std::int64_t count, float* to);

}  // namespace sluice::kernels
