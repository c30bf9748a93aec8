// The result of `sluice compare` for people and for programs.
#pragma once

#include <span>
#include <string>

#include "sluice/experiment/comparison.hpp"

namespace sluice {

struct ComparisonHeading {
  const Graph& graph;
  const Machine& machine;
  std::string fast;  // as the user wrote it
  std::int64_t steps = 0;
};

std::string comparison_text(const ComparisonHeading& heading, std::span<const ComparisonRow> rows);
Status write_comparison(const std::string& path, const ComparisonHeading& heading, std::span<const ComparisonRow> rows);

}  // namespace sluice
