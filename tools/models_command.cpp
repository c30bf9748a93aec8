// sluice models: what can be trained.
#include <fmt/format.h>

#include <memory>

#include "sluice/models/model.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"

namespace sluice {
namespace {

Result<int> run(const std::string& json_path) {
  TextTable table({{"model", Align::kLeft, 0},
                   {"batch", Align::kRight, 0},
                   {"image", Align::kRight, 0},
                   {"classes", Align::kRight, 0},
                   {"", Align::kLeft, 0}});
  nlohmann::json list = nlohmann::json::array();
  for (const ModelEntry& entry : models()) {
    table.add_row({entry.name, fmt::format("{}", entry.default_batch), fmt::format("{}", entry.default_image_size),
                   fmt::format("{}", entry.default_classes), entry.summary});
    list.push_back({{"name", entry.name},
                    {"summary", entry.summary},
                    {"batch", entry.default_batch},
                    {"image_size", entry.default_image_size},
                    {"classes", entry.default_classes}});
  }
  fmt::print("{}", table.text());
  if (!json_path.empty()) SLUICE_RETURN_IF_ERROR(write_json_file(json_path, {{"models", list}}));
  return kExitOk;
}

}  // namespace

void add_models_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("models", "List the built-in models and their usual sizes");
  auto json = std::make_shared<std::string>();
  add_json_option(*command, *json);
  command->footer("Example: sluice models");
  command->callback([json, &action] { action = [json] { return run(*json); }; });
}

}  // namespace sluice
