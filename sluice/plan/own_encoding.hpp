// Which encoding (memory/encoding/encoding.hpp) a tensor's bytes may lie in: it follows from its kind of elements.
//
// What ReLU and dropout leave is often half zeros. Where a 2 x 2 max pool found its values takes 2 bits instead of 8, a
// mask of zeros and ones takes one. Pure functions. Thread-safe.
#pragma once

#include <string_view>

#include "sluice/graph/graph.hpp"
#include "sluice/memory/encoding/encoding.hpp"

namespace sluice::plan {

constexpr memory::Encoding own_encoding(const graph::Tensor& tensor) {
  return tensor.dtype == graph::DType::kF32 || graph::is_half(tensor.dtype) ? memory::Encoding::kZeroValue
                                                                            : memory::Encoding::kNarrow;
}

// "f32, bf16 and f16". Not of kNone.
constexpr std::string_view elements_allowed(memory::Encoding encoding) {
  return encoding == memory::Encoding::kZeroValue ? "f32, bf16 and f16" : "i32 and u8";
}

}  // namespace sluice::plan
