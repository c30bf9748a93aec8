// The commands and options of `sluice` as plain data, read from the parser: what completion, the manual page and --help
// are generated from, so that none of them can forget an option.
//
// What the value of an option is shows in its name: "a|b|c" lists the words that there are, FILE and FOLDER stand for
// paths, MODEL and PLANNER for names that `sluice models` and `sluice planners` list; others are free text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;       // of CLI11, whose header takes two seconds to compile
class Option;
}  // namespace CLI

namespace sluice {

enum class ValueKind { kNone, kText, kWord, kFile, kFolder, kModel, kPlanner };

struct OptionEntry {
  std::vector<std::string> names;  // "-q", "--quiet"; of a positional argument its name alone
  bool positional = false;
  bool required = false;
  bool list = false;     // several values, separated by commas
  bool repeats = false;  // may be given again; of a positional argument: several of it
  std::string value;     // "FILE"; empty for a flag
  ValueKind kind = ValueKind::kNone;
  std::vector<std::string> words;  // of kWord
  std::string usual;               // the default, where there is one to show
  std::string help;                // may have several lines
  std::string group;

  std::string title() const;  // "-o, --output FILE"
};

struct CommandEntry {
  std::string name, summary, footer;
  std::vector<OptionEntry> options;  // positional ones first, in their order
};

// Without what is hidden.
struct CommandTree {
  CommandEntry root;  // of `sluice` itself
  std::vector<CommandEntry> commands;
  std::vector<std::string> models, planners;  // names to offer
};

CommandTree describe_commands(const CLI::App& app);
nlohmann::json command_tree_json(const CommandTree& tree);

// "FILE" of CLI11's "TEXT:FILE": what an option's value is called.
std::string value_name(const std::string& type);

// The first line of a help text, up to its first colon, full stop or bracket where it is long: for lists of options.
std::string short_help(const std::string& help);

}  // namespace sluice
