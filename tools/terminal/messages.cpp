#include "tools/terminal/messages.hpp"

#include <fmt/format.h>

#include "sluice/base/progress/terminal.hpp"

namespace sluice::cli {

void print_error(std::string_view message) {
  tell(fmt::format("{} {}\n", styled("sluice:", Style::kBad, terminal().colour_errors), message));
}

void print_note(std::string_view note) {
  if (terminal().quiet) return;
  tell(fmt::format("sluice: {} {}\n", styled("note:", Style::kNote, terminal().colour_errors), note));
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) print_note(note);
}

}  // namespace sluice::cli
