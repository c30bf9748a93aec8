// How --help looks: headings that stand out on a terminal with colours, and names of values that mean something.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;       // of CLI11, whose header takes two seconds to compile
}

namespace sluice::cli {

// For `app` and the commands that are added afterwards.
void format_help(CLI::App& app);

// Exit codes and where to read on, for the end of `sluice --help`.
std::string help_footer();

}  // namespace sluice::cli
