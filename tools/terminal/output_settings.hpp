// How much every command says, and how it looks: options of `sluice` itself and of each of its commands, so that they work
// before and after the command's name.
//
//   -q, --quiet      results and errors only
//   -v, --verbose    also what is worth knowing of what happens: caches, measurements, attempts of planners
//   --colour WHEN    auto: on a terminal, unless NO_COLOR is set or TERM is dumb
//   --json -         the document on standard output, and what is for people on standard error
#pragma once

#include <string>

#include "sluice/base/result.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;       // of CLI11, whose header takes two seconds to compile
}

namespace sluice::cli {

inline constexpr const char* kOutputGroup = "Output";

struct OutputSettings {
  bool quiet = false;
  bool verbose = false;
  std::string colour = "auto";
};

// To `app` and to each of its commands. What the settings say is there when the parser is done.
void add_output_options(CLI::App& app, OutputSettings& settings);

// What a terminal may show by what is known before anything is parsed; for the parser's own messages.
void begin_output();

// Settles the terminal, the log and standard output for the command that was asked for.
Status settle_output(const CLI::App& app, const OutputSettings& settings);

}  // namespace sluice::cli
