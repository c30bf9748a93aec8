// Text as HTML and XML read it back, for pages.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// For text and attributes: & < > " ' become entities; control characters other than the end of a line become spaces.
std::string escape_markup(std::string_view text);

}  // namespace sluice
