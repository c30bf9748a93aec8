// What only works where the host can reach the fast memory.
#pragma once

#include <string_view>

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

// kUnsupported, naming `what`, for a machine whose fast tier is a GPU's memory.
Status check_on_host(const Machine& machine, std::string_view what);

}  // namespace sluice::memory
