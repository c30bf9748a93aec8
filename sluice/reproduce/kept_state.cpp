#include "sluice/reproduce/kept_state.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "sluice/reproduce/kept_text.hpp"
#include "sluice/reproduce/made_record.hpp"

namespace sluice {
namespace {

using Kind = KeptState::Kind;

constexpr std::size_t kMostNamed = 3;

std::string some_of(const std::vector<std::string>& paths) {
  if (paths.size() <= kMostNamed) return fmt::format("{}", fmt::join(paths, ", "));
  return fmt::format("{} and {} more", fmt::join(paths.begin(), paths.begin() + kMostNamed, ", "),
                     paths.size() - kMostNamed);
}

std::string text_of_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The commands that a kept text begins with: what went before, and the one whose output it holds.
std::vector<std::string> shown_commands(const std::string& text) {
  std::vector<std::string> commands;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line.starts_with("$ ");) commands.push_back(line.substr(2));
  return commands;
}

std::vector<std::string> shown_commands(const KeptResult& result) {
  std::vector<std::string> commands;
  for (const CommandWords& before : result.before) commands.push_back(shown_command(before, result.name));
  commands.push_back(shown_command(result.command, result.name));
  return commands;
}

KeptState compare_hashes(const MadeRecord& made, const CodeTree& now, const std::vector<std::string>& paths) {
  std::vector<std::string> changed;
  for (const std::string& path : paths) {
    const auto then = made.code.find(path);
    if (then == made.code.end()) return {Kind::kStale, fmt::format("{} was not noted when it was made", path)};
    if (then->second != now.hash_of(path)) changed.push_back(path);
  }
  if (changed.empty()) return {Kind::kKept, ""};
  return {Kind::kStale, fmt::format("since {}: {} changed", made.commit, some_of(changed))};
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::kKept:
      return "kept";
    case Kind::kUnknown:
      return "cannot tell";
    case Kind::kStale:
      return "stale";
    case Kind::kMissing:
      return "missing";
  }
  return "";
}

KeptStates::KeptStates(const Catalog& catalog) : catalog_(catalog), now_(tree_of_working_files(catalog.root)) {}

KeptState KeptStates::of(const std::string& name) {
  const std::filesystem::path file = catalog_.results() / name;
  const KeptResult* result = catalog_.find_kept(name);
  const bool has_text = std::filesystem::exists(file.string() + ".txt");
  const bool has_json = std::filesystem::exists(file.string() + ".json");
  if (result == nullptr) {
    if (!has_json && !has_text) return {Kind::kMissing, "and nothing in benchmarks/kept makes it"};
    return {Kind::kUnknown, "nothing in benchmarks/kept makes it"};
  }
  if (!has_text) return {Kind::kMissing, "no " + name + ".txt"};
  if (result->writes("$out") && !has_json) return {Kind::kMissing, "no " + name + ".json"};
  if (!now_.ok()) return {Kind::kUnknown, now_.error().message};
  return compare(*result, text_of_file(file.string() + ".txt"));
}

KeptState KeptStates::compare(const KeptResult& result, const std::string& text) {
  const std::optional<MadeRecord> made = read_made_record(text);
  if (!made) return {Kind::kUnknown, result.name + ".txt names no commit"};
  if (!made->code.empty() && shown_commands(text) != shown_commands(result)) {
    return {Kind::kStale, fmt::format("since {}: its command changed", made->commit)};
  }
  const std::set<std::string> measured = *measured_paths(result, catalog_.code);  // read_catalog() has tried all
  const std::vector<std::string> paths(measured.begin(), measured.end());
  if (!made->code.empty()) return compare_hashes(*made, *now_, paths);
  const CodeTree* then = commit(made->commit);
  if (then == nullptr) return {Kind::kStale, fmt::format("made by {}, code that is not in this history", made->commit)};
  const std::vector<std::string> changed = changed_paths(*then, *now_, paths);
  if (changed.empty()) return {Kind::kKept, ""};
  return {Kind::kStale, fmt::format("since {}: {} changed", made->commit, some_of(changed))};
}

const CodeTree* KeptStates::commit(const std::string& name) {
  auto [found, is_new] = commits_.emplace(name, std::nullopt);
  if (is_new) {
    if (Result<CodeTree> tree = tree_of_commit(catalog_.root, name); tree.ok()) found->second = *std::move(tree);
  }
  return found->second ? &*found->second : nullptr;
}

}  // namespace sluice
