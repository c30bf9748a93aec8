#include "sluice/report/page/equivalent_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sluice/base/text/shell_word.hpp"

namespace sluice::report {
namespace {

std::string joined(std::span<const std::string> words) {
  std::string text = "sluice";
  for (const std::string& word : words) text.append(" ").append(shell_word(word));
  return text;
}

// What other commands take as well: model, machine, budget.
std::vector<std::string> shared_arguments(std::span<const std::string> arguments, const std::string& fast) {
  constexpr std::array<std::string_view, 8> kWithValue{"-o",      "--output",   "--json",  "--planner",
                                                       "--curve", "--planners", "--steps", "--starts"};
  std::vector<std::string> shared;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    const bool own = std::ranges::find(kWithValue, name) != kWithValue.end();
    if (own && name.size() == word.size()) ++i;  // its value is the next word
    const bool page = word.starts_with("-o");    // -oFILE
    if (!own && !page && word != "--run") shared.push_back(word);
  }
  const auto is_budget = [](const std::string& word) { return word == "--fast" || word.starts_with("--fast="); };
  if (std::ranges::none_of(shared, is_budget)) shared.insert(shared.end(), {"--fast", fast});
  return shared;
}

}  // namespace

std::vector<ReportCommand> equivalent_commands(std::span<const std::string> arguments, const std::string& fast,
                                               const std::string& planner, const std::string& planners) {
  const std::vector<std::string> shared = shared_arguments(arguments, fast);
  const auto with = [&](const char* command, std::vector<std::string> more) {
    std::vector<std::string> words{command};
    words.insert(words.end(), shared.begin(), shared.end());
    words.insert(words.end(), more.begin(), more.end());
    return joined(words);
  };
  return {{"This report", joined(arguments)},
          {"Its plan as a file", with("plan", {"--planner", planner, "-o", "plan.json"})},
          {"Its timeline for Perfetto", with("simulate", {"--planner", planner, "--trace", "trace.json"})},
          {"Train under this plan", with("train", {"--planner", planner, "--steps", "100"})},
          {"Run the planners beside each other", with("compare", {"--planners", planners})}};
}

}  // namespace sluice::report
