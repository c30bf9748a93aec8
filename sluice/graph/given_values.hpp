// Initial values that came with a model, for parameters whose Init::kind is kGiven.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sluice/base/result.hpp"

namespace sluice::graph {

class GivenValues {
 public:
  virtual ~GivenValues() = default;
  // Copies elements [first_element, first_element + values.size()) of the whole parameter `source`, row-major.
  // Errors: an unknown source, fewer elements than asked for.
  virtual Status read(const std::string& source, std::int64_t first_element, std::span<float> values) const = 0;
};

}  // namespace sluice::graph
