#include "sluice/base/json_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

Error too_long(std::size_t bytes) {
  return bad_input(fmt::format("{} bytes or more, and JSON documents of at most {} are read", bytes, kMostJsonBytes));
}

// Counts brackets and commas outside of strings, in whatever text.
Status check_extent(std::string_view text) {
  if (text.size() > kMostJsonBytes) return too_long(text.size());
  int depth = 0;
  std::size_t values = 1;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      ++values;
      if (++depth > kMostJsonDepth) {
        return bad_input(fmt::format("nested deeper than {} at byte {}", kMostJsonDepth, at + 1));
      }
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',') {
      ++values;
    }
    if (values > kMostJsonValues) return bad_input(fmt::format("more than {} values", kMostJsonValues));
  }
  return {};
}

// No more than a byte beyond what is read: a file may have no end.
Result<std::string> read_text(const std::filesystem::path& path) {
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  while (file && text.size() <= kMostJsonBytes) {  // a folder opens, and fails here
    const std::size_t before = text.size();
    text.resize(before + kChunk);
    file.read(text.data() + before, static_cast<std::streamsize>(kChunk));
    text.resize(before + as_index(file.gcount()));
  }
  if (!file.is_open() || file.bad()) {
    return Error{ErrorCode::kIo, fmt::format("cannot read {}: {}", path.string(), std::strerror(errno))};
  }
  return text;
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text) {
  SLUICE_RETURN_IF_ERROR(check_extent(text));
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    return Error{ErrorCode::kBadInput, fmt::format("not JSON, or cut short at byte {}", error.byte)};
  } catch (const nlohmann::json::exception&) {
    return Error{ErrorCode::kBadInput, "not JSON: a number is too large"};
  }
}

Result<nlohmann::json> read_json_file(const std::filesystem::path& path) {
  SLUICE_ASSIGN(const std::string text, read_text(path));
  Result<nlohmann::json> document = parse_json(text);
  if (document.ok()) return document;
  return Error{document.error().code,
               fmt::format("{}: {}: it has to be made again", path.string(), document.error().message)};
}

}  // namespace sluice
