#include "tools/help/command_tree.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "sluice/models/model.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/policies/dtr/dtr.hpp"
#include "sluice/policies/policy_settings.hpp"

namespace sluice {
namespace {

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == '|') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

ValueKind kind_of(const std::string& value) {
  if (value.empty()) return ValueKind::kNone;
  if (value.find('|') != std::string::npos) return ValueKind::kWord;
  if (value == "FILE") return ValueKind::kFile;
  if (value == "FOLDER") return ValueKind::kFolder;
  if (value == "MODEL") return ValueKind::kModel;
  return value == "PLANNER" ? ValueKind::kPlanner : ValueKind::kText;
}

std::string_view name_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNone:
      return "flag";
    case ValueKind::kText:
      return "text";
    case ValueKind::kWord:
      return "word";
    case ValueKind::kFile:
      return "file";
    case ValueKind::kFolder:
      return "folder";
    case ValueKind::kModel:
      return "model";
    case ValueKind::kPlanner:
      return "planner";
  }
  return "";
}

OptionEntry describe_option(const CLI::Option& option) {
  OptionEntry entry;
  entry.positional = option.get_positional() && option.get_lnames().empty() && option.get_snames().empty();
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (entry.positional) entry.names = {option.get_name(true, false)};
  entry.required = option.get_required();
  entry.list = option.get_delimiter() == ',';
  entry.repeats = option.get_expected_max() > 1;
  if (option.get_type_size() != 0) entry.value = value_name(option.get_type_name());
  entry.kind = kind_of(entry.value);
  if (entry.kind == ValueKind::kWord) entry.words = split_words(entry.value);
  entry.usual = option.get_default_str();
  entry.help = option.get_description();
  entry.group = option.get_group();
  return entry;
}

CommandEntry describe_command(const CLI::App& command) {
  CommandEntry entry{command.get_name(), command.get_description(), command.get_footer(), {}};
  for (const CLI::Option* option : command.get_options({})) {
    if (!option->get_group().empty()) entry.options.push_back(describe_option(*option));
  }
  std::ranges::stable_partition(entry.options, [](const OptionEntry& option) { return option.positional; });
  return entry;
}

nlohmann::json option_json(const OptionEntry& option) {
  return {{"names", option.names}, {"positional", option.positional}, {"required", option.required},
          {"list", option.list},   {"repeats", option.repeats},       {"value", option.value},
          {"words", option.words}, {"default", option.usual},         {"help", option.help},
          {"group", option.group}, {"kind", name_of(option.kind)}};
}

nlohmann::json command_json(const CommandEntry& command) {
  nlohmann::json options = nlohmann::json::array();
  for (const OptionEntry& option : command.options) options.push_back(option_json(option));
  return {{"name", command.name}, {"summary", command.summary}, {"footer", command.footer}, {"options", options}};
}

}  // namespace

std::string OptionEntry::title() const {
  return fmt::format("{}{}{}", fmt::join(names, ", "), value.empty() || positional ? "" : " ", positional ? "" : value);
}

std::string value_name(const std::string& type) {
  const std::string last = type.substr(type.rfind(':') == std::string::npos ? 0 : type.rfind(':') + 1);
  if (last == "DIR") return "FOLDER";
  if (last == "INT" || last == "UINT") return "N";
  return last == "FLOAT" || last == "POSITIVE" ? "X" : last;
}

CommandTree describe_commands(const CLI::App& app) {
  CommandTree tree;
  tree.root = describe_command(app);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    tree.commands.push_back(describe_command(*command));
  }
  for (const ModelEntry& model : models()) tree.models.push_back(model.name);
  for (const PlannerEntry& planner : planners()) tree.planners.emplace_back(planner.name);
  for (const PolicyEntry& policy : policies()) tree.planners.emplace_back(policy.name);
  tree.planners.emplace_back(kDtrName);
  return tree;
}

nlohmann::json command_tree_json(const CommandTree& tree) {
  nlohmann::json commands = nlohmann::json::array();
  for (const CommandEntry& command : tree.commands) commands.push_back(command_json(command));
  return {{"options", command_json(tree.root)["options"]},
          {"commands", commands},
          {"models", tree.models},
          {"planners", tree.planners}};
}

std::string short_help(const std::string& help) {
  constexpr std::size_t kLong = 60;
  std::string line = help.substr(0, help.find('\n'));
  for (const std::string_view end : {" (", ": ", "; ", ". "}) {
    if (line.size() > kLong) line.resize(std::min(line.size(), line.find(end)));
  }
  while (!line.empty() && (line.back() == ':' || line.back() == '.')) line.pop_back();
  return line;
}

}  // namespace sluice
