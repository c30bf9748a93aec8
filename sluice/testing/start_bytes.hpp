// What a tensor holds before the first step of a test: bytes that only it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/graph/ops/tensor.hpp"

namespace sluice::testing {

inline std::vector<std::byte> start_bytes(const graph::Tensor& tensor, graph::TensorId id) {
  std::vector<std::byte> bytes(as_index(tensor.bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(random_bits(1, static_cast<std::uint64_t>(id), i));
  }
  return bytes;
}

}  // namespace sluice::testing
