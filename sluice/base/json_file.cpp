#include "sluice/base/json_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace sluice {

Result<nlohmann::json> parse_json(std::string_view text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    return Error{ErrorCode::kBadInput, fmt::format("not JSON, or cut short at byte {}", error.byte)};
  } catch (const nlohmann::json::exception&) {
    return Error{ErrorCode::kBadInput, "not JSON: a number is too large"};
  }
}

Result<nlohmann::json> read_json_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();  // a folder opens, and fails here
  if (!file.is_open() || file.bad()) {
    return Error{ErrorCode::kIo, fmt::format("cannot read {}: {}", path.string(), std::strerror(errno))};
  }
  Result<nlohmann::json> document = parse_json(text.view());
  if (document.ok()) return document;
  return Error{document.error().code,
               fmt::format("{}: {}: it has to be made again", path.string(), document.error().message)};
}

}  // namespace sluice
