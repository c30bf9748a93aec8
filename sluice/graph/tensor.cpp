#include "sluice/graph/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice {

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace sluice
