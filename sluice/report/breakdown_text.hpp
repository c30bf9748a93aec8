// Where the time of steps goes, for people: a table with a line a step (sim/time_breakdown.hpp).
#pragma once

#include <string>
#include <vector>

#include "sluice/sim/time_breakdown.hpp"

namespace sluice::report {

struct NamedBreakdown {
  std::string name;  // "joint, predicted"
  sim::TimeBreakdown parts;
};

std::string breakdown_table(const std::vector<NamedBreakdown>& steps);

}  // namespace sluice::report
