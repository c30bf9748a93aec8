// How many elements a shape has that comes from outside: from a file, or from options. The one place where such extents
// are multiplied, so that no product goes beyond 64 bits. (element_count(), in tensor.hpp, is of shapes that have passed.)
#pragma once

#include <cstdint>
#include <optional>

#include "sluice/graph/ops/tensor.hpp"

namespace sluice::graph {

inline constexpr std::int64_t kMostElements = std::int64_t{1} << 40;  // of any tensor: more than any machine holds
inline constexpr std::size_t kMostDimensions = 32;

// The product of the extents; nothing when one is negative, there are more than kMostDimensions, or the product is above
// `most`. So is that of an empty tensor with 1 for each 0: its strides, and sums of its extents, stay within 64 bits, too.
std::optional<std::int64_t> checked_count(const Shape& shape, std::int64_t most = kMostElements);

}  // namespace sluice::graph
