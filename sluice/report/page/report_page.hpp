// The page of `sluice report`: one HTML file that opens offline, made of the document of collect_report.hpp alone.
//
// Headings and tables are plain HTML and need no script; the charts are drawn from the embedded document by the scripts
// of assets.hpp. Every number of a table says which entry of the document it is (html.hpp).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sluice::report {

std::string report_page(const nlohmann::json& document);

}  // namespace sluice::report
