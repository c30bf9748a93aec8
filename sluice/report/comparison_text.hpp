// The result of `sluice compare` for people. docs/comparison.md explains the columns.
#pragma once

#include <string>
#include <vector>

#include "sluice/report/breakdown_text.hpp"
#include "sluice/report/comparison_heading.hpp"

namespace sluice {

std::string comparison_text(const ComparisonHeading& heading, const ComparisonResult& result);

// Where the time of each planner's step goes, predicted and measured; empty where nobody knows.
std::vector<NamedBreakdown> breakdowns_of(const ComparisonResult& result);

}  // namespace sluice
