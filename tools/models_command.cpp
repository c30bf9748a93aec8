// sluice models: what can be trained.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/models/model.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/text_table.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct OptionColumn {
  const char* title;
  const char* json_name;
  std::int64_t models::ModelOptions::*value;
};

constexpr OptionColumn kImageSize{"image", "image_size", &models::ModelOptions::image_size};
constexpr OptionColumn kClasses{"classes", "classes", &models::ModelOptions::classes};
constexpr OptionColumn kVocabulary{"vocabulary", "classes", &models::ModelOptions::classes};
constexpr OptionColumn kSequence{"sequence", "sequence", &models::ModelOptions::sequence};
constexpr OptionColumn kWidth{"width", "width", &models::ModelOptions::width};
constexpr OptionColumn kDepth{"depth", "depth", &models::ModelOptions::depth};

// A table of its own for every kind of data.
struct Section {
  std::string title;
  bool (*contains)(const models::ModelOptions& defaults);
  std::vector<OptionColumn> columns;
};

const std::vector<Section>& sections() {
  static const std::vector<Section> all = {
      {"Images and their classes",
       [](const models::ModelOptions& defaults) { return defaults.image_size > 0 && defaults.classes > 0; },
       {kImageSize, kClasses, kWidth, kDepth}},
      {"Generated images",
       [](const models::ModelOptions& defaults) { return defaults.image_size > 0 && defaults.classes == 0; },
       {kImageSize, kWidth, kDepth}},
      {"Text",
       [](const models::ModelOptions& defaults) { return defaults.sequence > 0; },
       {kSequence, kVocabulary, kWidth, kDepth}},
  };
  return all;
}

std::string option_cell(std::int64_t value) { return value == 0 ? "-" : fmt::format("{}", value); }

std::string section_text(const Section& section) {
  std::vector<report::TableColumn> columns = {{"model", report::Align::kLeft, 0}, {"batch", report::Align::kRight, 0}};
  for (const OptionColumn& column : section.columns) columns.push_back({column.title, report::Align::kRight, 0});
  columns.push_back({"dropout", report::Align::kRight, 0});
  columns.push_back({"", report::Align::kLeft, 0});
  report::TextTable table(columns);
  for (const models::ModelEntry& entry : models::models()) {
    const models::ModelOptions& defaults = entry.defaults;
    if (!section.contains(defaults)) continue;
    std::vector<std::string> cells = {entry.name, option_cell(defaults.batch)};
    for (const OptionColumn& column : section.columns) cells.push_back(option_cell(defaults.*column.value));
    cells.push_back(defaults.dropout < 0 ? "-" : fmt::format("{}", defaults.dropout));
    cells.push_back(entry.summary);
    table.add_row(cells);
  }
  return fmt::format("{}\n\n{}\n", section.title, table.text());
}

// Options that a model does not have are left out.
nlohmann::json to_json(const models::ModelEntry& entry) {
  nlohmann::json record = {{"name", entry.name}, {"summary", entry.summary}, {"batch", entry.defaults.batch}};
  for (const OptionColumn& column : {kImageSize, kClasses, kSequence, kWidth, kDepth}) {
    const std::int64_t value = entry.defaults.*column.value;
    if (value != 0) record[column.json_name] = value;
  }
  if (entry.defaults.dropout >= 0) record["dropout"] = entry.defaults.dropout;
  return record;
}

Result<int> run_models(const std::string& json_path) {
  for (const Section& section : sections()) say("{}", section_text(section));
  say("The figures are the defaults; an option marked - is not one of that model's.\n");
  nlohmann::json list = nlohmann::json::array();
  for (const models::ModelEntry& entry : models::models()) list.push_back(to_json(entry));
  SLUICE_RETURN_IF_ERROR(report::write_document(json_path, "models", {{"models", list}}));
  return kExitOk;
}

}  // namespace

void add_models_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("models", "List the built-in models, their options and the usual sizes");
  auto json = std::make_shared<std::string>();
  add_json_option(*command, *json);
  command->footer("Example: sluice models");
  command->callback([json, &action] { action = [json] { return run_models(*json); }; });
}

}  // namespace sluice::cli
