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

std::string with_suffix(const std::string& name, std::string_view suffix) {
  const std::size_t rows = name.ends_with(']') ? name.rfind('[') : std::string::npos;
  const std::string whole = name.substr(0, rows);
  return whole + std::string(suffix) + (rows == std::string::npos ? "" : name.substr(rows));
}

}  // namespace sluice
