#include "sluice/reproduce/kept_text.hpp"

#include <fmt/format.h>

#include <utility>

#include "sluice/base/shell_word.hpp"

namespace sluice {
namespace {

constexpr std::string_view kResults = "docs/results";

Places shown_places(const std::string& name) {
  const std::string file = fmt::format("{}/{}", kResults, name);
  return {.sluice = "sluice",
          .out = file + ".json",
          .picture = file + ".svg",
          .folder = std::string(kResults),
          .root = ".",
          .spill = "SPILL",
          .name = name};
}

void replace_all(std::string& text, const std::string& what, std::string_view by) {
  if (what.empty()) return;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

}  // namespace

std::string shown_command(const CommandWords& words, const std::string& name) {
  const Places places = shown_places(name);
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += shell_word(fill_places(word, places));
  }
  return text;
}

std::string kept_text(const KeptResult& result, const MadeRecord& made, std::string_view printed,
                      const Places& places) {
  std::string text;
  for (const CommandWords& before : result.before) text += fmt::format("$ {}\n", shown_command(before, result.name));
  text += fmt::format("$ {}\n{}", shown_command(result.command, result.name), made_record_text(made));
  if (!result.note.empty()) text += result.note + "\n";
  std::string output(printed);
  replace_all(output, places.folder, kResults);
  replace_all(output, places.sluice, "sluice");
  replace_all(output, places.spill, "SPILL");
  replace_all(output, places.root + "/", "");
  return text + output;
}

}  // namespace sluice
