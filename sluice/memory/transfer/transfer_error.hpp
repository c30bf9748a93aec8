// The one wording of a failed transfer: what was being done, where, how many bytes and what the system said.
#pragma once

#include <string>
#include <string_view>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice::memory {

// `verb` is "read" or "write"; `system_error` an errno value, or 0 for a transfer that ended early.
Error transfer_error(std::string_view verb, std::string_view tier, Bytes offset, Bytes bytes, int system_error);

}  // namespace sluice::memory
