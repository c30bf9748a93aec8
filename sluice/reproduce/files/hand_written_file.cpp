#include "sluice/reproduce/files/hand_written_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace sluice {
namespace {

using nlohmann::json;

// Notes the first key that an object has twice; the parser would keep the last.
class KeyWatch {
 public:
  bool operator()(json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) open_.emplace_back();
    if (event == json::parse_event_t::object_end) open_.pop_back();
    if (event != json::parse_event_t::key) return true;
    const auto key = parsed.get<std::string>();
    if (!open_.back().insert(key).second && twice_.empty()) twice_ = key;
    return true;
  }

  const std::string& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::string twice_;
};

// The parser's own words, which name line and column, without its error numbers.
std::string reason_of(const json::exception& error) {
  const std::string_view words = error.what();
  const std::size_t begin = words.find("] ");
  return std::string(begin == std::string_view::npos ? words : words.substr(begin + 2));
}

}  // namespace

Result<json> parse_hand_written(std::string_view text) {
  KeyWatch watch;
  const auto on_event = [&](int, json::parse_event_t event, json& parsed) { return watch(event, parsed); };
  try {
    json document = json::parse(text, on_event, /*allow_exceptions=*/true, /*ignore_comments=*/true);
    if (!watch.twice().empty())
      return bad_input(fmt::format("the key \"{}\" stands twice in one object", watch.twice()));
    return document;
  } catch (const json::exception& error) {
    return bad_input(reason_of(error));
  }
}

Result<json> read_hand_written(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (stream.peek() != std::ifstream::traits_type::eof()) text << stream.rdbuf();
  if (!stream.is_open() || stream.bad()) {
    return Error{ErrorCode::kIo, fmt::format("cannot read {}: {}", file.string(), std::strerror(errno))};
  }
  Result<json> document = parse_hand_written(text.view());
  if (document.ok()) return document;
  return bad_input(fmt::format("{}: {}", file.string(), document.error().message));
}

Status check_fields(const JsonReader& object, std::initializer_list<std::string_view> known) {
  if (!object.value().is_object()) return object.error("expected an object");
  for (const auto& [key, value] : object.value().items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    return object.error(fmt::format("unknown field \"{}\"; known: {}", key, fmt::join(known, ", ")));
  }
  return {};
}

std::vector<std::filesystem::path> json_files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace sluice
