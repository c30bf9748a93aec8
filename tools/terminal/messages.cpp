#include "tools/terminal/messages.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "sluice/base/progress/terminal.hpp"

namespace sluice::cli {

void print_error(std::string_view message) {
  fmt::print(stderr, "{} {}\n", styled("sluice:", Style::kBad, terminal().colour_errors), message);
}

void print_note(std::string_view note) {
  if (terminal().quiet) return;
  fmt::print(stderr, "sluice: {} {}\n", styled("note:", Style::kNote, terminal().colour_errors), note);
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) print_note(note);
}

}  // namespace sluice::cli
