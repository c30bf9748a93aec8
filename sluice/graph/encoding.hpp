// How a tensor's bytes may lie in a slow tier: as they are, or in a lossless encoding, of which fewer bytes have to
// move.
//
// kZeroValue keeps the elements that are not zero and a mask of one bit per element that says which they are. What ReLU
// and dropout leave is often half zeros. Zero means that every bit is zero: -0.0 and every NaN keep their bits.
//
// An encoded tensor lies in chunks. Each chunk begins where it would begin unencoded, so that the room is the worst
// case, and takes as many whole blocks of a disk as it needs, or lies there as it is where encoding it would save none.
// Pure functions. Thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "sluice/graph/tensor.hpp"

namespace sluice {

enum class Encoding { kNone, kZeroValue };

inline constexpr Bytes kEncodedChunkBytes = 256 * kKiB;  // unencoded; the last chunk of a tensor may be shorter

// Whether the tensor's kind of elements allows the encoding: zero-value is for floats.
constexpr bool allows(const Tensor& tensor, Encoding encoding) {
  return encoding == Encoding::kNone || tensor.dtype == DType::kF32 || tensor.dtype == DType::kBF16;
}

std::string_view to_string(Encoding encoding);  // "zero-value"
std::optional<Encoding> parse_encoding(std::string_view name);

}  // namespace sluice
