// What the sections of a page are put together from.
#pragma once

#include <string>
#include <string_view>

#include "sluice/report/page/html.hpp"

namespace sluice::report {

std::string page_section(std::string_view id, std::string_view title, const std::string& content);
std::string caption(const std::string& html);

// Where a script draws; `label` tells those who do not see it what it shows.
std::string chart_place(std::string_view id, std::string_view label);

std::string folded_table(std::string_view summary, const HtmlTable& table);
std::string code(const std::string& html);
std::string entry(std::string_view list, std::size_t index);  // "/comparison/results/3"

// " (slow memory emulated)"; empty where nothing is.
std::string note_of_emulation(const ShownNumbers& numbers);

}  // namespace sluice::report
