// Which encoding (memory/encoding/encoding.hpp) a tensor's bytes may lie in.
//
// What ReLU and dropout leave is often half zeros. Where a 2 x 2 max pool found its values takes 2 bits instead of 8, a
// mask of zeros and ones takes one. Pure functions. Thread-safe.
#pragma once

#include <string_view>

#include "sluice/graph/ops/tensor.hpp"
#include "sluice/memory/encoding/encoding.hpp"

namespace sluice::graph {

// The encoding for the tensor's kind of elements.
constexpr memory::Encoding own_encoding(const Tensor& tensor) {
  return tensor.dtype == DType::kF32 || is_half(tensor.dtype) ? memory::Encoding::kZeroValue
                                                              : memory::Encoding::kNarrow;
}

constexpr bool allows(const Tensor& tensor, memory::Encoding encoding) {
  return encoding == memory::Encoding::kNone || encoding == own_encoding(tensor);
}

std::string_view elements_allowed(memory::Encoding encoding);  // "f32, bf16 and f16"

}  // namespace sluice::graph
