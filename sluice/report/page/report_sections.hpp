// The sections of a report, one function each: heading, what it shows in a sentence, the place of its chart, its table.
#pragma once

#include <string>

#include "sluice/report/page/html.hpp"

namespace sluice::report {

std::string summary_section(const ShownNumbers& numbers);
std::string memory_section(const ShownNumbers& numbers);
std::string timeline_section(const ShownNumbers& numbers);
std::string planners_section(const ShownNumbers& numbers);
std::string curve_section(const ShownNumbers& numbers);
std::string more_memory_section(const ShownNumbers& numbers);
std::string breakdown_section(const ShownNumbers& numbers);
std::string tensors_section(const ShownNumbers& numbers);
std::string machine_section(const ShownNumbers& numbers);
std::string commands_section(const ShownNumbers& numbers);

}  // namespace sluice::report
