// How a tensor's bytes may lie in a slow tier: as they are, or in a lossless encoding, of which fewer bytes have to
// move.
//
// kZeroValue keeps the elements that are not zero and a mask of one bit per element that says which they are. What ReLU
// and dropout leave is often half zeros. Zero means that every bit is zero: -0.0 and every NaN keep their bits.
//
// kNarrow keeps of integers the low bits that the largest of a chunk needs: 1, 2, 4, 8 or 16 of each. Where a 2 x 2 max
// pool found its values takes 2 bits instead of 8, a mask of zeros and ones takes one.
//
// An encoded tensor lies in chunks. Each chunk begins where it would begin unencoded, so that the room is the worst
// case, and takes as many whole blocks of a disk as it needs, or lies there as it is where encoding it would save none.
// Pure functions. Thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "sluice/graph/tensor.hpp"

namespace sluice {

enum class Encoding { kNone, kZeroValue, kNarrow };

inline constexpr Bytes kEncodedChunkBytes = 256 * kKiB;  // unencoded; the last chunk of a tensor may be shorter

// The encoding for the tensor's kind of elements.
constexpr Encoding own_encoding(const Tensor& tensor) {
  return tensor.dtype == DType::kF32 || is_half(tensor.dtype) ? Encoding::kZeroValue : Encoding::kNarrow;
}

constexpr bool allows(const Tensor& tensor, Encoding encoding) {
  return encoding == Encoding::kNone || encoding == own_encoding(tensor);
}

std::string_view to_string(Encoding encoding);         // "zero-value"
std::string_view elements_allowed(Encoding encoding);  // "f32, bf16 and f16"
std::optional<Encoding> parse_encoding(std::string_view name);

}  // namespace sluice
