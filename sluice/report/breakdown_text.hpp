// Where the time of steps goes, for people: a table with a line a step, and a picture with a bar a step
// (sim/time_breakdown.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/sim/time_breakdown.hpp"

namespace sluice {

struct NamedBreakdown {
  std::string name;  // "joint, predicted"
  TimeBreakdown parts;
};

std::string breakdown_table(const std::vector<NamedBreakdown>& steps);
// SVG. `subtitle`: what the steps are of. No steps: an empty text.
std::string breakdown_picture(const std::vector<NamedBreakdown>& steps, std::string_view subtitle);

}  // namespace sluice
