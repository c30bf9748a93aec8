#include "tools/output_files.hpp"

#include <CLI/CLI.hpp>

#include "sluice/base/atomic_file.hpp"
#include "sluice/report/json_document.hpp"
#include "tools/terminal/messages.hpp"

namespace sluice::cli {
namespace {

constexpr const char* kIsWritten = "is written";  // a validator of this name marks the options; it refuses nothing

bool names_output(CLI::Option& option) {
  try {
    return option.get_validator(kIsWritten) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

}  // namespace

CLI::Option* add_output_file(CLI::App& command, const std::string& names, std::string& path,
                             const std::string& description) {
  const auto refuses_nothing = [](std::string&) { return std::string(); };
  return command.add_option(names, path, description)
      ->type_name("FILE")
      ->check(CLI::Validator(refuses_nothing, "", kIsWritten));
}

Status try_output_files(const CLI::App& app) {
  for (CLI::App* command : app.get_subcommands()) {
    for (CLI::Option* option : command->get_options()) {
      if (!names_output(*option)) continue;
      const std::string path = option->empty() ? option->get_default_str() : option->as<std::string>();
      if (path.empty() || path == report::kStandardOutput) continue;
      SLUICE_RETURN_IF_ERROR(try_to_write(path));
    }
  }
  return {};
}

void Outputs::note(const Status& written) {
  if (written.ok()) return;
  if (failure_.ok()) {
    failure_ = written;
  } else {
    print_error(written.error().message);
  }
}

}  // namespace sluice::cli
