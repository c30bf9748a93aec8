// --html FILE: pages with charts of what a command found (report/page/chart_page.hpp).
#pragma once

#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/report/page/chart_page.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;       // of CLI11, whose header takes two seconds to compile
}

namespace sluice::cli {

// `formerly`: options that drew pictures; whoever gives one is told of --html, exit code 2. They are in no help.
void add_html_option(CLI::App& command, std::string& path, const std::string& what,
                     const std::vector<std::string>& formerly);

// Nothing where `path` is empty: nobody asked. Errors: those of base/atomic_file.hpp.
Status write_charts(const std::string& path, const report::ChartPage& page);

}  // namespace sluice::cli
