// JSON documents from text and files; json_reader.hpp reads what is in them. Thread-safe.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sluice/base/result.hpp"

namespace sluice {

// kBadInput when the text is no JSON or only the beginning of a document; the error names the byte where it goes wrong.
Result<nlohmann::json> parse_json(std::string_view text);

// The same of a whole file, named in the error; kIo when it cannot be read.
Result<nlohmann::json> read_json_file(const std::filesystem::path& path);

}  // namespace sluice
