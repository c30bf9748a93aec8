// The result of `sluice compare` for programs. docs/comparison.md names every field; a test holds both together.
#pragma once

#include <nlohmann/json.hpp>

#include "sluice/experiment/comparison_result.hpp"
#include "sluice/report/comparison_heading.hpp"

namespace sluice::report {

nlohmann::json comparison_json(const ComparisonHeading& heading, const experiment::ComparisonResult& result);

}  // namespace sluice::report
