#include "sluice/report/planner_table.hpp"

#include <fmt/format.h>

#include <array>

#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice::report {
namespace {

struct TraitColumn {
  const char* title;  // of a table for people
  const char* name;   // in JSON
  bool planners::PlannerTraits::*value;
};

constexpr auto kColumns = std::to_array<TraitColumn>({
    {"moves", "moves", &planners::PlannerTraits::moves},
    {"makes again", "recomputes", &planners::PlannerTraits::recomputes},
    {"reorders", "reorders", &planners::PlannerTraits::reorders},
    {"profiles", "profiles", &planners::PlannerTraits::profiles},
    {"counts accesses", "counts_accesses", &planners::PlannerTraits::counts_accesses},
    {"whole step", "whole_step", &planners::PlannerTraits::whole_step},
    {"all tensors", "all_tensors", &planners::PlannerTraits::all_tensors},
    {"any graph", "any_graph", &planners::PlannerTraits::any_graph},
    {"small in blocks", "groups_small", &planners::PlannerTraits::groups_small},
    {"several tiers", "several_tiers", &planners::PlannerTraits::several_tiers},
    {"bound", "bound", &planners::PlannerTraits::bound},
});

}  // namespace

std::string planner_table_text() {
  std::vector<TableColumn> columns{{"planner", Align::kLeft, 0}, {"decides by", Align::kLeft, 0}};
  for (const TraitColumn& column : kColumns) columns.push_back({column.title, Align::kLeft, 0});
  TextTable table(columns);
  for (const planners::PlannerEntry& entry : planners::planners()) {
    std::vector<std::string> cells{std::string(entry.name), std::string(entry.traits.decides)};
    for (const TraitColumn& column : kColumns) cells.emplace_back(entry.traits.*column.value ? "yes" : "-");
    table.add_row(cells);
  }
  return table.text();
}

std::string planner_table_markdown() {
  std::string text = "| planner | decides by |";
  std::string rule = "\n|---|---|";
  for (const TraitColumn& column : kColumns) {
    text += fmt::format(" {} |", column.title);
    rule += "---|";
  }
  text += rule + "\n";
  for (const planners::PlannerEntry& entry : planners::planners()) {
    text += fmt::format("| `{}` | {} |", entry.name, entry.traits.decides);
    for (const TraitColumn& column : kColumns) text += entry.traits.*column.value ? " yes |" : "  |";
    text += "\n";
  }
  return text;
}

namespace {

// {"name", "help", "source", "default", "least", "most", "words"}: the numbers of those written as numbers, else words.
nlohmann::json setting_json(const Setting& setting, const Settings& all) {
  nlohmann::json object = {{"name", setting.name},
                           {"help", setting.help},
                           {"source", setting.source},
                           {"default", text_of(setting, all.defaults)}};
  if (!setting.words.empty()) {
    object["words"] = setting.words;
  } else {
    object["least"] = setting.least;
    object["most"] = setting.most;
  }
  return object;
}

}  // namespace

nlohmann::json planner_table_json() {
  nlohmann::json all = nlohmann::json::array();
  for (const planners::PlannerEntry& entry : planners::planners()) {
    nlohmann::json planner = {{"name", entry.name}, {"summary", entry.summary}, {"decides", entry.traits.decides}};
    for (const TraitColumn& column : kColumns) planner[column.name] = entry.traits.*column.value;
    planner["settings"] = nlohmann::json::array();
    for (const Setting& each : entry.settings.rows) planner["settings"].push_back(setting_json(each, entry.settings));
    all.push_back(std::move(planner));
  }
  return all;
}

}  // namespace sluice::report
