// Text as HTML and XML read it back, for pages and pictures.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// For text and attributes: & < > " ' become entities, control characters that XML forbids become spaces.
std::string escape_markup(std::string_view text);

}  // namespace sluice
