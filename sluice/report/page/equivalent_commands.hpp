// The commands that show more of what a report shows, written as one would type them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sluice/report/page/collect_report.hpp"

namespace sluice::report {

// `arguments`: those of the report, from "report" on. What only `sluice report` knows is left out of the others, its own
// default for --fast is added, and words are quoted where a shell would read them otherwise.
std::vector<ReportCommand> equivalent_commands(std::span<const std::string> arguments, const std::string& fast,
                                               const std::string& planner, const std::string& planners);

}  // namespace sluice::report
