// What the command says on standard error: one line each, begun by "sluice:", which is red before an error where the
// terminal shows colours (sluice/base/progress/terminal.hpp). Notes are left out with --quiet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

void print_error(std::string_view message);
void print_note(std::string_view note);
void print_notes(const std::vector<std::string>& notes);

}  // namespace sluice::cli
