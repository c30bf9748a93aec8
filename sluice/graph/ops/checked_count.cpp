#include "sluice/graph/ops/checked_count.hpp"

#include <algorithm>

namespace sluice::graph {

std::optional<std::int64_t> checked_count(const Shape& shape, std::int64_t most) {
  if (shape.size() > kMostDimensions) return std::nullopt;
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || extent > most / count) return std::nullopt;
    empty = empty || extent == 0;
    count *= std::max<std::int64_t>(extent, 1);
  }
  return empty ? 0 : count;
}

}  // namespace sluice::graph
