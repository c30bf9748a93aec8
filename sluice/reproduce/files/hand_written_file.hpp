// Reads the JSON files that people write for `sluice reproduce`: comments (`//`) are allowed, and what JSON leaves open
// is an error here, because a mistyped field would be passed over in silence: a key that stands twice, a field that
// nobody knows. Errors are kBadInput (kIo where the file cannot be read) and name the file and the place.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sluice/base/json_reader.hpp"
#include "sluice/base/result.hpp"

namespace sluice {

Result<nlohmann::json> parse_hand_written(std::string_view text);
Result<nlohmann::json> read_hand_written(const std::filesystem::path& file);

// An error for the first field of an object that is none of `known`.
Status check_fields(const JsonReader& object, std::initializer_list<std::string_view> known);

// The *.json of a folder in the order of their names; none where there is no folder.
std::vector<std::filesystem::path> json_files_of(const std::filesystem::path& folder);

}  // namespace sluice
