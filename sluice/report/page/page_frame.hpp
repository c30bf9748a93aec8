// What every page of ours is: one HTML file that opens offline, with the style and scripts of assets.hpp and the document
// that the charts are drawn from.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sluice::report {

// `title` is text; `notices` and `body` are HTML. Where the build has no charting library the page says so.
std::string framed_page(const std::string& title, const std::string& notices, const std::string& body,
                        const nlohmann::json& document);

std::string page_notice(const std::string& html);

}  // namespace sluice::report
