// Text from outside, before it goes where only UTF-8 may be: into JSON. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Whether it is UTF-8: no byte that begins nothing, no overlong form, no surrogate, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

// The same text, with a question mark for each byte that is not part of a character.
std::string as_utf8(std::string_view text);

}  // namespace sluice
