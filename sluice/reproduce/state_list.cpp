#include "sluice/reproduce/state_list.hpp"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "sluice/report/text_table.hpp"

namespace sluice {
namespace {

using Kind = KeptState::Kind;

// "3 kept, 1 stale": of what an item reads.
std::string item_state(const PaperItem& item, KeptStates& states) {
  if (!item.addressed()) return "not addressed: " + item.not_addressed;
  std::map<Kind, int> count;
  for (const std::string& name : item.kept) ++count[states.of(name).kind];
  std::vector<std::string> words;
  for (const auto& [kind, results] : count) words.push_back(fmt::format("{} {}", results, to_string(kind)));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string item_table(const Catalog& catalog, KeptStates& states) {
  TextTable table({{"item"}, {"rows", Align::kRight}, {"kept results"}, {"what"}});
  for (const PaperItem& item : catalog.items) {
    table.add_row({item.id, fmt::format("{}", item.rows.size()), item_state(item, states), item.title});
  }
  return table.text();
}

using Lacks = std::function<std::string(const KeptResult&)>;

std::string state_words(const KeptResult& result, const KeptState& state, const std::string& lacking) {
  std::string words(to_string(state.kind));
  if (!state.why.empty() && state.kind != Kind::kMissing)
    words += (state.kind == Kind::kStale ? " " : ": ") + state.why;
  if (!result.only_if_asked.empty()) words += "; only if asked: " + result.only_if_asked;
  if (!lacking.empty()) words += "; this machine lacks " + lacking;
  return words;
}

std::string kept_table(const Catalog& catalog, KeptStates& states, const Lacks& lacks) {
  TextTable table({{"kept result"}, {"how"}, {"minutes", Align::kRight}, {"state"}});
  for (const auto& [name, result] : catalog.kept) {
    table.add_row({name, std::string(to_string(result.how)), fmt::format("{:g}", result.minutes),
                   state_words(result, states.of(name), lacks(result))});
  }
  return table.text();
}

}  // namespace

std::string state_list_text(const Catalog& catalog, KeptStates& states, const Lacks& lacks) {
  std::map<Kind, int> count;
  double minutes = 0;
  for (const auto& [name, result] : catalog.kept) {
    const Kind kind = states.of(name).kind;
    ++count[kind];
    const bool to_make = (kind == Kind::kStale || kind == Kind::kMissing) && result.only_if_asked.empty();
    if (to_make && lacks(result).empty()) minutes += result.minutes;
  }
  std::string text = catalog.items.empty() ? "" : item_table(catalog, states) + "\n";
  text += kept_table(catalog, states, lacks) + "\n";
  for (const auto& [kind, results] : count) text += fmt::format("{} {}, ", results, to_string(kind));
  return text + fmt::format("sluice reproduce all would take about {:.0f} minutes.\n", minutes);
}

nlohmann::json kept_states_json(const Catalog& catalog, KeptStates& states) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, result] : catalog.kept) {
    const KeptState state = states.of(name);
    list.push_back({{"name", name},
                    {"how", to_string(result.how)},
                    {"minutes", result.minutes},
                    {"state", to_string(state.kind)},
                    {"why", state.why},
                    {"only_if_asked", result.only_if_asked}});
  }
  return list;
}

}  // namespace sluice
