// The result of `sluice compare` for people. docs/comparison.md explains the columns.
#pragma once

#include <string>

#include "sluice/experiment/comparison_result.hpp"
#include "sluice/report/comparison_heading.hpp"

namespace sluice::report {

std::string comparison_text(const ComparisonHeading& heading, const experiment::ComparisonResult& result);

}  // namespace sluice::report
