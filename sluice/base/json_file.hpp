// JSON documents from text and files: the one place where such text is parsed; json_reader.hpp reads what is in them.
//
// Text comes from anywhere, so it is looked over before it is parsed, without recursion and without memory: a document
// that is nested too deep, too long or of too many values is an error, and what is left takes about 1 GiB at most and
// may be walked by recursion. Files of ours are nested to 8, and have some MiB. Thread-safe.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sluice/base/result.hpp"

namespace sluice {

inline constexpr int kMostJsonDepth = 64;  // lists and objects in one another
inline constexpr std::size_t kMostJsonBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMostJsonValues = 8'000'000;

// kBadInput when the text is no JSON or only the beginning of a document, and the error names the byte where it goes
// wrong; or above what is read, and the error says what it has and what is read.
Result<nlohmann::json> parse_json(std::string_view text);

// The same of a whole file, named in the error; kIo when it cannot be read.
Result<nlohmann::json> read_json_file(const std::filesystem::path& path);

}  // namespace sluice
