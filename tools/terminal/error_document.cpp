#include "tools/terminal/error_document.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace sluice::cli {
namespace {

constexpr std::string_view kJsonOption = "--json";

nlohmann::json or_null(const std::optional<std::int64_t>& bytes) {
  return bytes ? nlohmann::json(*bytes) : nlohmann::json(nullptr);
}

nlohmann::json error_object(std::string_view kind, const Error& error) {
  return {{"kind", kind},
          {"message", error.message},
          {"requested_bytes", or_null(error.requested_bytes)},
          {"available_bytes", or_null(error.available_bytes)}};
}

}  // namespace

ErrorDestination find_error_destination(const CLI::App& app, const std::vector<std::string>& arguments) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  const auto is_command = [&](const std::string& word) {
    return std::ranges::any_of(commands, [&](const CLI::App* command) { return command->check_name(word); });
  };
  ErrorDestination found{"", "sluice"};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& each = arguments[i];
    if (each == kJsonOption && i + 1 < arguments.size()) found.path = arguments[i + 1];
    if (each.starts_with(std::string(kJsonOption) + "=")) found.path = each.substr(kJsonOption.size() + 1);
    if (found.command == "sluice" && is_command(each)) found.command = each;
  }
  return found;
}

nlohmann::json to_json(const Error& error) { return error_object(to_string(error.code), error); }

nlohmann::json internal_error(const std::string& message) {
  return error_object("internal", {ErrorCode::kBadInput, message});
}

}  // namespace sluice::cli
