// What this command's output may look like, settled once when it starts: colours, signs beyond ASCII, silence. Whatever
// prints more than plain text asks here. Who uses the library alone gets plain text, and no progress off a terminal.
//
// Colours are for a terminal that wants them: not with NO_COLOR in the environment, nor TERM=dumb. Signs beyond ASCII are
// for a locale of UTF-8 (LC_ALL, LC_CTYPE, LANG, the first one that is set). Both are pure functions of what is passed.
// Threads: set_terminal() before any other is started.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

struct Terminal {
  bool colour_out = false;  // escape sequences on standard output
  bool colour_errors = false;
  bool unicode = false;
  bool quiet = false;  // results and errors only: no notes, no progress
};

const Terminal& terminal();
void set_terminal(const Terminal& terminal);

enum class ColourChoice { kAuto, kAlways, kNever };

// An environment variable's value; empty where it is not set.
struct TerminalEnvironment {
  std::string no_color, term, lc_all, lc_ctype, lang;
};
TerminalEnvironment read_terminal_environment();

bool wants_colour(ColourChoice choice, bool is_terminal, const TerminalEnvironment& environment);
bool is_dumb(const TerminalEnvironment& environment);  // shows escape sequences as they are
bool takes_unicode(const TerminalEnvironment& environment);

enum class Style { kPlain, kHeading, kGood, kNote, kBad };

// To standard error. A terminal or a log that cannot be written to is no reason to fail: then nobody is told.
void tell(std::string_view text);

// `text` with the style's escape sequences around it, or as it is.
std::string styled(std::string_view text, Style style, bool colour);

}  // namespace sluice
