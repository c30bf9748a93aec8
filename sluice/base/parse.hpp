// Numbers in text, however they came here: options, files, what the kernel says of itself.
//
// No spaces, no '+', and neither infinity nor NaN: whoever reads a number reckons with it. Quantities with units are in
// units.hpp.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "sluice/base/result.hpp"

namespace sluice {

// All of `text`: "0.05", "-1e3". kBadInput: "'1x' is not a number".
Result<double> parse_number(std::string_view text);

// All of `text`, which lies from `least` to `most`. kBadInput: "'1x' is not a whole number", "'0' is below 1",
// "'70' is above 64", "'99999999999999999999' is beyond 64 bits".
Result<std::int64_t> parse_integer(std::string_view text, std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                                   std::int64_t most = std::numeric_limits<std::int64_t>::max());

// Of a text in which something follows ("512MiB", "64:128]"): takes the number at its beginning off it. Nothing, and the
// text as it was, where it begins with none.
std::optional<double> take_number(std::string_view& text);
std::optional<std::int64_t> take_integer(std::string_view& text, int base = 10);

}  // namespace sluice
