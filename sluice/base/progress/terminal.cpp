#include "sluice/base/progress/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

namespace sluice {
namespace {

Terminal& current() {
  static Terminal settled;
  return settled;
}

std::string value_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

std::string_view code_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kHeading:
      return "1";
    case Style::kGood:
      return "32";
    case Style::kNote:
      return "33";
    case Style::kBad:
      return "1;31";
  }
  return "";
}

}  // namespace

const Terminal& terminal() { return current(); }
void set_terminal(const Terminal& terminal) { current() = terminal; }

void tell(std::string_view text) {
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

TerminalEnvironment read_terminal_environment() {
  return {value_of("NO_COLOR"), value_of("TERM"), value_of("LC_ALL"), value_of("LC_CTYPE"), value_of("LANG")};
}

bool wants_colour(ColourChoice choice, bool is_terminal, const TerminalEnvironment& environment) {
  if (choice != ColourChoice::kAuto) return choice == ColourChoice::kAlways;
  return is_terminal && environment.no_color.empty() && !is_dumb(environment);
}

bool is_dumb(const TerminalEnvironment& environment) { return environment.term.empty() || environment.term == "dumb"; }

bool takes_unicode(const TerminalEnvironment& environment) {
  std::string locale = !environment.lc_all.empty()     ? environment.lc_all
                       : !environment.lc_ctype.empty() ? environment.lc_ctype
                                                       : environment.lang;
  std::ranges::transform(locale, locale.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

std::string styled(std::string_view text, Style style, bool colour) {
  if (!colour || style == Style::kPlain) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", code_of(style), text);
}

}  // namespace sluice
