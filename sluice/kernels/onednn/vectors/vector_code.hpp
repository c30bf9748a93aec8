// Vector loops of our own: written once on vectors of 16 floats, and compiled for AVX-512, AVX2 and plain x86-64. The
// version is chosen when the program runs.
//
//   vectorised([&](auto width) SLUICE_INLINE { scale<decltype(width)>(x, y, count); });
//
// The body and all it calls must be SLUICE_INLINE, so that they are compiled again for each instruction set; OpenMP
// regions go around, not inside. Vectors are passed by reference: by value, their ABI would depend on the set.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sluice/base/units.hpp"
#include "sluice/graph/ops/op.hpp"
#include "sluice/kernels/bf16.hpp"
#include "sluice/kernels/fp16.hpp"

#define SLUICE_INLINE __attribute__((always_inline))

namespace sluice::kernels {

constexpr std::int64_t kLanes = 16;

using Vector = float __attribute__((vector_size(64)));
using VectorInMemory = float __attribute__((vector_size(64), aligned(4), may_alias));
using DoubleVector = double __attribute__((vector_size(128)));
using IntVector = std::uint32_t __attribute__((vector_size(64)));
using ShortVector = std::uint16_t __attribute__((vector_size(32)));

struct Avx512 {};
struct Avx2 {};
struct AnyX86 {};

enum class VectorSet { kAnyX86, kAvx2, kAvx512 };

namespace vector_code {

template <typename Body>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma"), noinline)) void run_avx512(const Body& body) {
  body(Avx512{});
}
template <typename Body>
__attribute__((target("avx2,fma"), noinline)) void run_avx2(const Body& body) {
  body(Avx2{});
}

inline bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
inline bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

}  // namespace vector_code

// The widest that this processor has.
inline VectorSet widest_vectors() {
  static const VectorSet widest = vector_code::has_avx512() ? VectorSet::kAvx512
                                  : vector_code::has_avx2() ? VectorSet::kAvx2
                                                            : VectorSet::kAnyX86;
  return widest;
}

// Tests name the set; this processor must have it.
template <typename Body>
void vectorised(const Body& body, VectorSet set = widest_vectors()) {
  switch (set) {
    case VectorSet::kAvx512:
      return vector_code::run_avx512(body);
    case VectorSet::kAvx2:
      return vector_code::run_avx2(body);
    case VectorSet::kAnyX86:
      return body(AnyX86{});
  }
}

SLUICE_INLINE inline void broadcast(float value, Vector& result) { result = Vector{} + value; }

SLUICE_INLINE inline void load(const float* from, Vector& result) {
  result = *reinterpret_cast<const VectorInMemory*>(from);
}
SLUICE_INLINE inline void load(const BFloat16* from, Vector& result) {
  ShortVector bits;
  std::memcpy(&bits, from, sizeof(bits));
  const IntVector wide = __builtin_convertvector(bits, IntVector) << 16;
  std::memcpy(&result, &wide, sizeof(result));
}

// As to_float of fp16.hpp.
SLUICE_INLINE inline void load(const Float16* from, Vector& result) {
  ShortVector bits;
  std::memcpy(&bits, from, sizeof(bits));
  const IntVector wide = __builtin_convertvector(bits, IntVector);
  const IntVector magnitude = (wide & 0x7fffU) << 13;
  Vector scaled;
  std::memcpy(&scaled, &magnitude, sizeof(scaled));
  scaled = scaled * 0x1p112F;
  IntVector finite;
  std::memcpy(&finite, &scaled, sizeof(finite));
  const IntVector widened = magnitude >= 0x0f800000U ? magnitude | 0x7f800000U : finite;
  const IntVector all = ((wide & 0x8000U) << 16) | widened;
  std::memcpy(&result, &all, sizeof(result));
}

SLUICE_INLINE inline void round_to(const Vector& value, ShortVector& result, BFloat16 /*format*/) {
  IntVector bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const IntVector rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const IntVector quiet = (bits >> 16) | 0x40U;
  result = __builtin_convertvector((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded, ShortVector);
}

// As to_fp16.
SLUICE_INLINE inline void round_to(const Vector& value, ShortVector& result, Float16 /*format*/) {
  IntVector bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const IntVector magnitude = bits & 0x7fffffffU;
  const IntVector normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  Vector beside;
  std::memcpy(&beside, &magnitude, sizeof(beside));
  beside = beside + 0.5F;
  IntVector denormal;
  std::memcpy(&denormal, &beside, sizeof(denormal));
  denormal = denormal - 0x3f000000U;
  const IntVector zero{};
  const IntVector infinite = magnitude > 0x7f800000U ? zero + 0x7e00U : zero + 0x7c00U;
  const IntVector finite = magnitude < 0x38800000U ? denormal : normal;
  const IntVector rounded = magnitude >= 0x47800000U ? infinite : finite;
  result = __builtin_convertvector(((bits & 0x80000000U) >> 16) | rounded, ShortVector);
}

SLUICE_INLINE inline void store(const Vector& value, float* to) { *reinterpret_cast<VectorInMemory*>(to) = value; }
template <typename Half>  // BFloat16, Float16
SLUICE_INLINE inline void store(const Vector& value, Half* to) {
  ShortVector narrow;
  round_to(value, narrow, Half{});
  std::memcpy(static_cast<void*>(to), &narrow, sizeof(narrow));
}

// Results of this size have left the caches before they are read again.
constexpr Bytes kStreamedBytes = 24 * kMiB;

// A store around the caches, for what is not read again soon. `to` is 64-byte aligned. Needs finish_streaming() before
// another thread reads.
template <typename Width>
SLUICE_INLINE inline void stream(const Vector& value, float* to) {
  if constexpr (std::is_same_v<Width, Avx512>) {
    asm volatile("vmovntps %1, %0" : "=m"(*reinterpret_cast<VectorInMemory*>(to)) : "v"(value));
  } else {
    store(value, to);
  }
}
template <typename Width, typename Half>  // BFloat16, Float16
SLUICE_INLINE inline void stream(const Vector& value, Half* to) {
  store(value, to);
}
// Two vectors of 16 bits an element, which fill a cache line.
template <typename Width, typename Half>
SLUICE_INLINE inline void stream(const Vector& first, const Vector& second, Half* to) {
  ShortVector halves[2];
  round_to(first, halves[0], Half{});
  round_to(second, halves[1], Half{});
  if constexpr (std::is_same_v<Width, Avx512>) {
    Vector both;
    std::memcpy(&both, halves, sizeof(both));
    asm volatile("vmovntps %1, %0" : "=m"(*reinterpret_cast<VectorInMemory*>(to)) : "v"(both));
  } else if constexpr (std::is_same_v<Width, Avx2>) {
    auto* const line = reinterpret_cast<ShortVector*>(to);
    asm volatile("vmovntdq %1, %0" : "=m"(line[0]) : "x"(halves[0]));
    asm volatile("vmovntdq %1, %0" : "=m"(line[1]) : "x"(halves[1]));
  } else {
    std::memcpy(static_cast<void*>(to), halves, sizeof(halves));
  }
}
inline void finish_streaming() { __builtin_ia32_sfence(); }

template <typename Width>
SLUICE_INLINE inline void square_root(const Vector& value, Vector& result) {
  if constexpr (std::is_same_v<Width, Avx512>) {
    asm("vsqrtps %1, %0" : "=v"(result) : "v"(value));
  } else {
    for (int lane = 0; lane < kLanes; ++lane) result[lane] = __builtin_sqrtf(value[lane]);
  }
}

// Fused activations; NaN stays NaN.
template <graph::Activation FusedActivation>
SLUICE_INLINE inline void activate(Vector& z) {
  const Vector zero{};
  if constexpr (FusedActivation != graph::Activation::kNone) z = z < zero ? zero : z;
  if constexpr (FusedActivation == graph::Activation::kRelu6) z = z > zero + 6.0F ? zero + 6.0F : z;
}

// Adds 16 floats to 16 doubles.
SLUICE_INLINE inline void add_to(const Vector& value, DoubleVector& sum) {
  sum += __builtin_convertvector(value, DoubleVector);
}

}  // namespace sluice::kernels
