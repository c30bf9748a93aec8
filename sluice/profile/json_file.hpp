// Writes a JSON document so that readers see the old file or the whole new one, never a part: beside it first, then
// renamed over it. Makes the folder where there is none.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sluice/base/result.hpp"

namespace sluice {

// kIo when the folder cannot be written to or has no room; `what` ("the profile cache") is for the message.
Status replace_json_file(const std::filesystem::path& path, const nlohmann::json& document, std::string_view what);

}  // namespace sluice
