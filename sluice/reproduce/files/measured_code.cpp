#include "sluice/reproduce/files/measured_code.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "sluice/reproduce/files/hand_written_file.hpp"

namespace sluice {
namespace {

constexpr std::string_view kBuilt = "build/release/";

// The names in a word like "fast-only,sentinel:additions=none@20%": before the first : or @ of each part.
std::vector<std::string> names_in(std::string_view word) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t comma = word.find(',');
    const std::string_view part = word.substr(0, comma);
    names.emplace_back(part.substr(0, part.find_first_of(":@")));
    if (comma == std::string_view::npos) return names;
    word.remove_prefix(comma + 1);
  }
}

// A script, or the folder that a built program is made of; nothing for $sluice and what is not of this repository.
std::string path_of_program(const std::string& word) {
  if (word.starts_with("benchmarks/")) return word;
  if (!word.starts_with(kBuilt)) return "";
  const std::string_view inside = std::string_view(word).substr(kBuilt.size());
  return std::string(inside.substr(0, inside.rfind('/')));
}

void add_set(const MeasuredCode& code, const std::string& name, std::set<std::string>& paths) {
  const auto found = code.sets.find(name);
  if (found != code.sets.end()) paths.insert(found->second.begin(), found->second.end());
}

std::set<std::string> default_paths(const KeptResult& result, const MeasuredCode& code) {
  std::set<std::string> paths;
  if (result.how != HowMade::kSimulated) add_set(code, "executed", paths);
  if (result.how != HowMade::kExecuted) add_set(code, "simulated", paths);
  for (const std::string& word : result.command) {
    if (const std::string path = path_of_program(word); !path.empty()) paths.insert(path);
    for (const std::string& name : names_in(word)) {
      if (name != "executed" && name != "simulated") add_set(code, name, paths);
    }
  }
  return paths;
}

}  // namespace

Result<MeasuredCode> read_measured_code(const std::filesystem::path& file) {
  SLUICE_ASSIGN(const nlohmann::json document, read_hand_written(file));
  MeasuredCode code;
  if (const Status read = JsonReader(document).read(code.sets); !read.ok()) {
    return bad_input(fmt::format("{}: {}", file.string(), read.error().message));
  }
  return code;
}

Result<std::set<std::string>> measured_paths(const KeptResult& result, const MeasuredCode& code) {
  if (result.measures.empty()) return default_paths(result, code);
  std::set<std::string> paths;
  for (const std::string& each : result.measures) {
    if (each.find('/') != std::string::npos) {
      paths.insert(each);
    } else if (code.sets.contains(each)) {
      add_set(code, each, paths);
    } else {
      return bad_input(fmt::format("{}: {} measures \"{}\", which is neither a path nor a set of measured_code.json",
                                   result.file.string(), result.name, each));
    }
  }
  return paths;
}

}  // namespace sluice
