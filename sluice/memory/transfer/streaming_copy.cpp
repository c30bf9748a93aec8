#include "sluice/memory/transfer/streaming_copy.hpp"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sluice::memory {
namespace {

struct Copy {
  std::string_view name;
  CopyFunction function;
};

#if defined(__x86_64__)

// Four vectors at a time keep enough loads in flight; one fence at the end orders the streaming stores.
__attribute__((target("avx512f"))) void copy_avx512(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 256) {
    const __m512i a = _mm512_load_si512(from + i);
    const __m512i b = _mm512_load_si512(from + i + 64);
    const __m512i c = _mm512_load_si512(from + i + 128);
    const __m512i d = _mm512_load_si512(from + i + 192);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), a);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 64), b);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 128), c);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 192), d);
  }
  _mm_sfence();
}

__attribute__((target("avx2"))) void copy_avx2(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 128) {
    const auto* source = reinterpret_cast<const __m256i*>(from + i);
    auto* target = reinterpret_cast<__m256i*>(to + i);
    const __m256i a = _mm256_load_si256(source);
    const __m256i b = _mm256_load_si256(source + 1);
    const __m256i c = _mm256_load_si256(source + 2);
    const __m256i d = _mm256_load_si256(source + 3);
    _mm256_stream_si256(target, a);
    _mm256_stream_si256(target + 1, b);
    _mm256_stream_si256(target + 2, c);
    _mm256_stream_si256(target + 3, d);
  }
  _mm_sfence();
}

void copy_sse2(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 64) {
    const auto* source = reinterpret_cast<const __m128i*>(from + i);
    auto* target = reinterpret_cast<__m128i*>(to + i);
    const __m128i a = _mm_load_si128(source);
    const __m128i b = _mm_load_si128(source + 1);
    const __m128i c = _mm_load_si128(source + 2);
    const __m128i d = _mm_load_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  _mm_sfence();
}

Copy choose_copy() {
  if (__builtin_cpu_supports("avx512f")) return {"avx512", copy_avx512};
  if (__builtin_cpu_supports("avx2")) return {"avx2", copy_avx2};
  return {"sse2", copy_sse2};
}

#else

Copy choose_copy() {
  return {"memcpy", [](std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); }};
}

#endif

const Copy& chosen_copy() {
  static const Copy copy = choose_copy();
  return copy;
}

}  // namespace

void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  chosen_copy().function(to, from, bytes);
}

// In slices, since memcpy streams by itself what it takes to be larger than a cache.
void cached_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kSlice = 64 * 1024;
  for (std::size_t i = 0; i < bytes; i += kSlice) std::memcpy(to + i, from + i, std::min(kSlice, bytes - i));
}

std::string_view streaming_copy_name() { return chosen_copy().name; }

}  // namespace sluice::memory
