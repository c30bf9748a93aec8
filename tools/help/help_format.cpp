#include "tools/help/help_format.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sluice/base/progress/terminal.hpp"
#include "tools/process/exit_codes.hpp"

namespace sluice::cli {
namespace {

// "FILE" of CLI11's "TEXT:FILE": what an option's value is called.
std::string value_name(const std::string& type) {
  const std::string last = type.substr(type.rfind(':') == std::string::npos ? 0 : type.rfind(':') + 1);
  if (last == "DIR") return "FOLDER";
  if (last == "INT" || last == "UINT") return "N";
  return last == "FLOAT" || last == "POSITIVE" ? "X" : last;
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    std::string text = fmt::format("\n{}:\n", styled(group, Style::kHeading, terminal().colour_out));
    for (const CLI::Option* option : options) text += make_option(option, is_positional);
    return text;
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string text = CLI::Formatter::make_option_opts(option);
    const std::string type = option->get_type_name();
    if (option->get_type_size() == 0 || type.empty() || !text.starts_with(" " + type)) return text;
    return " " + value_name(type) + text.substr(1 + type.size());
  }
};

}  // namespace

void format_help(CLI::App& app) { app.formatter(std::make_shared<HelpFormatter>()); }

std::string help_footer() {
  std::string text = "Each command explains itself: sluice COMMAND --help\n\nExit status:\n";
  for (const ExitCode& code : exit_codes()) text += fmt::format("  {:>3}  {}\n", code.code, code.meaning);
  return text + "\nTab completion: sluice completion bash";
}

}  // namespace sluice::cli
