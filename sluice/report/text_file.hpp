// Writes results for people and programs to disk.
#pragma once

#include <string>
#include <string_view>

#include "sluice/base/result.hpp"

namespace sluice {

// Written to a temporary file beside it and renamed, so that no reader sees half a file. kIo names path and reason.
Status write_text_file(const std::string& path, std::string_view text);

}  // namespace sluice
