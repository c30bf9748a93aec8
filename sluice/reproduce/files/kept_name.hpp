// Names of kept results are names of files in docs/results, so they hold nothing that could lead elsewhere.
#pragma once

#include <string_view>

#include "sluice/base/result.hpp"

namespace sluice {

// kBadInput unless it is of letters, digits, _, - and ., and begins with none of the last two.
Status check_kept_name(std::string_view name);

}  // namespace sluice
