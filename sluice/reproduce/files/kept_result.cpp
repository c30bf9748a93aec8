#include "sluice/reproduce/files/kept_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sluice/reproduce/files/each.hpp"
#include "sluice/reproduce/files/hand_written_file.hpp"
#include "sluice/reproduce/files/kept_name.hpp"

namespace sluice {
namespace {

constexpr std::array kHows = {HowMade::kExecuted, HowMade::kSimulated, HowMade::kBoth};

struct Place {
  std::string_view name;
  std::string Places::*value;
};

constexpr std::array<Place, 7> kPlaces = {{{"$sluice", &Places::sluice},
                                           {"$out", &Places::out},
                                           {"$picture", &Places::picture},
                                           {"$folder", &Places::folder},
                                           {"$root", &Places::root},
                                           {"$spill", &Places::spill},
                                           {"$name", &Places::name}}};

const Place* place_at(std::string_view text) {
  const auto found = std::ranges::find_if(kPlaces, [&](const Place& place) { return text.starts_with(place.name); });
  return found == kPlaces.end() ? nullptr : &*found;
}

Status check_words(const JsonReader& reader, const CommandWords& words) {
  if (words.empty() || words.front().empty()) return reader.error("names no program");
  for (const std::string& word : words) {
    for (std::size_t at = word.find('$'); at != std::string::npos; at = word.find('$', at + 1)) {
      if (place_at(std::string_view(word).substr(at)) != nullptr) continue;
      std::vector<std::string_view> known;
      for (const Place& place : kPlaces) known.push_back(place.name);
      return reader.error(fmt::format("unknown place in \"{}\"; known: {}", word, fmt::join(known, ", ")));
    }
  }
  return {};
}

Status read_words(const JsonReader& reader, CommandWords& words) {
  SLUICE_RETURN_IF_ERROR(reader.read(words));
  return check_words(reader, words);
}

// {"PyTorch": ["python3", "-c", "import torch"]}
Status read_needs(const JsonReader& reader, std::vector<KeptNeed>& needs) {
  std::map<std::string, CommandWords> checks;
  SLUICE_RETURN_IF_ERROR(reader.read(checks));
  for (auto& [what, check] : checks) {
    SLUICE_RETURN_IF_ERROR(check_words(reader, check));
    needs.push_back({what, std::move(check)});
  }
  return {};
}

}  // namespace

std::string_view to_string(HowMade how) {
  switch (how) {
    case HowMade::kExecuted:
      return "executed";
    case HowMade::kSimulated:
      return "simulated";
    case HowMade::kBoth:
      return "both";
  }
  return "";
}

bool KeptResult::writes(std::string_view place) const {
  return std::ranges::any_of(command, [&](const std::string& word) { return word.find(place) != std::string::npos; });
}

Status read_json(const JsonReader& reader, KeptResult& result) {
  SLUICE_RETURN_IF_ERROR(check_fields(reader, {"name", "how", "emulated", "measures", "note", "before", "command",
                                               "minutes", "only_if_asked", "needs"}));
  SLUICE_RETURN_IF_ERROR(reader.read("name", result.name));
  if (const Status good = check_kept_name(result.name); !good.ok()) return reader.error("name", good.error().message);
  SLUICE_RETURN_IF_ERROR(reader.read_word("how", kHows, result.how));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("emulated", result.emulated));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("measures", result.measures));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("note", result.note));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("minutes", result.minutes));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("only_if_asked", result.only_if_asked));
  SLUICE_ASSIGN(const JsonReader command, reader.find("command"));
  SLUICE_RETURN_IF_ERROR(read_words(command, result.command));
  if (reader.has("before")) {
    SLUICE_ASSIGN(const std::vector<JsonReader> before, reader.list("before"));
    for (const JsonReader& each : before) SLUICE_RETURN_IF_ERROR(read_words(each, result.before.emplace_back()));
  }
  if (!reader.has("needs")) return {};
  SLUICE_ASSIGN(const JsonReader needs, reader.find("needs"));
  return read_needs(needs, result.needs);
}

Result<std::vector<KeptResult>> kept_results_of(const nlohmann::json& document) {
  const JsonReader reader(document);
  SLUICE_RETURN_IF_ERROR(check_fields(reader, {"results"}));
  SLUICE_ASSIGN(const std::vector<JsonReader> entries, reader.list("results"));
  std::vector<KeptResult> results;
  for (const JsonReader& entry : entries) {
    SLUICE_ASSIGN(const std::vector<nlohmann::json> expanded, expand_each(entry));
    for (const nlohmann::json& each : expanded) {
      const Status read = read_json(JsonReader(each), results.emplace_back());
      if (!read.ok()) return entry.error(read.error().message);
    }
  }
  return results;
}

Result<std::vector<KeptResult>> read_kept_results(const std::filesystem::path& file) {
  SLUICE_ASSIGN(const nlohmann::json document, read_hand_written(file));
  Result<std::vector<KeptResult>> results = kept_results_of(document);
  if (!results.ok()) return bad_input(fmt::format("{}: {}", file.string(), results.error().message));
  for (KeptResult& each : *results) each.file = file;
  return results;
}

std::string fill_places(std::string_view text, const Places& places) {
  std::string filled;
  while (!text.empty()) {
    const Place* place = text.front() == '$' ? place_at(text) : nullptr;
    filled += place == nullptr ? std::string(1, text.front()) : places.*(place->value);
    text.remove_prefix(place == nullptr ? 1 : place->name.size());
  }
  return filled;
}

}  // namespace sluice
