// Loops over elements, row by row or block by block, that the compiler turns into vector code.
//
// A function marked SLUICE_VECTOR_CLONES is compiled for AVX-512, for AVX2 and for the baseline, and the right one is
// chosen when the program starts. Only the function itself is cloned: its loops must be in it, or in functions marked
// SLUICE_FORCE_INLINE, not in an OpenMP region, which becomes a function of its own. So kernels share work with
// for_blocks or for_rows outside and call such functions for a block or a row. (vector_code.hpp is for loops that must
// be written on vectors.)
//
// Elements are fp32, bf16 or fp16 in memory and fp32 in registers: load and store convert. Blocks are sized for the
// first-level cache. Cutting into blocks depends on shapes alone.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sluice/base/check.hpp"
#include "sluice/graph/ops/tensor.hpp"
#include "sluice/kernels/bf16.hpp"
#include "sluice/kernels/fp16.hpp"

// Not under sanitizers: clones are resolved before the sanitizers' own start-up has run.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SLUICE_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SLUICE_VECTOR_CLONES
#endif
#define SLUICE_FORCE_INLINE [[gnu::always_inline]] inline

namespace sluice::kernels {

SLUICE_FORCE_INLINE float load(const float* values, std::int64_t i) { return values[i]; }
SLUICE_FORCE_INLINE float load(const BFloat16* values, std::int64_t i) { return to_float(values[i]); }
SLUICE_FORCE_INLINE float load(const Float16* values, std::int64_t i) { return to_float(values[i]); }
SLUICE_FORCE_INLINE void store(float* values, std::int64_t i, float value) { values[i] = value; }

// to_bf16 without its branch, which would keep loops from being vectorised.
SLUICE_FORCE_INLINE void store(BFloat16* values, std::int64_t i, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet_nan = (bits >> 16) | 0x40U;
  values[i].bits = static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet_nan : rounded);
}

SLUICE_FORCE_INLINE void store(Float16* values, std::int64_t i, float value) { values[i] = to_fp16(value); }

// Calls visit(float{}) or visit(BFloat16{}): a kernel's loop for the type of its elements.
template <typename Visit>
auto with_element(graph::DType dtype, const Visit& visit) {
  SLUICE_CHECK(dtype != graph::DType::kF16, "fp16 comes as fp32 to kernels that do not know it");
  return dtype == graph::DType::kBF16 ? visit(BFloat16{}) : visit(float{});
}

// The same for kernels that read fp16 as it lies; others get fp32 (fp16_kernel.hpp).
template <typename Visit>
auto with_any_element(graph::DType dtype, const Visit& visit) {
  return dtype == graph::DType::kF16 ? visit(Float16{}) : with_element(dtype, visit);
}

inline constexpr std::int64_t kLoopBlock = 4096;  // elements of one call of an inner loop

// Calls body(begin, end) for blocks of [0, count) on all threads.
template <typename Body>
void for_blocks(std::int64_t count, const Body& body) {
  const std::int64_t blocks = (count + kLoopBlock - 1) / kLoopBlock;
#pragma omp parallel for schedule(static) if (blocks > 1)
  for (std::int64_t block = 0; block < blocks; ++block)
    body(block * kLoopBlock, std::min(count, (block + 1) * kLoopBlock));
}

// Calls body(row) for rows [0, rows) on all threads; on one where there is little work.
template <typename Body>
void for_rows(std::int64_t rows, std::int64_t row_elements, const Body& body) {
#pragma omp parallel for schedule(static) if (rows * row_elements > kLoopBlock)
  for (std::int64_t row = 0; row < rows; ++row) body(row);
}

}  // namespace sluice::kernels
