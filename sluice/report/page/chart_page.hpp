// The page of a command's charts (`--html FILE`): what the command printed, and charts that the page's scripts
// (web/pages.js) draw from the document that its `--json` writes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sluice::report {

struct ChartPage {
  std::string_view command;  // "sweep": which charts are drawn
  std::string title;         // what they are of
  std::string text;          // as it was printed
  nlohmann::json document;   // not stamped
};

std::string chart_page(const ChartPage& page);

}  // namespace sluice::report
