#include "tools/chart_output.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sluice/base/atomic_file.hpp"
#include "tools/output_files.hpp"
#include "tools/terminal/output_settings.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {

void add_html_option(CLI::App& command, std::string& path, const std::string& what,
                     const std::vector<std::string>& formerly) {
  add_output_file(command, "--html", path, what)->group(kOutputGroup);
  for (const std::string& name : formerly) {
    command
        .add_option_function<std::string>(
            name,
            [name](const std::string&) {
              throw CLI::ValidationError(name,
                                         "there are no SVG pictures any more: --html FILE writes a page with them");
            })
        ->group("");
  }
}

Status write_charts(const std::string& path, const report::ChartPage& page) {
  if (path.empty()) return {};
  SLUICE_RETURN_IF_ERROR(write_file(path, report::chart_page(page)));
  say("written to {}; it opens in any browser, offline\n", path);
  return {};
}

}  // namespace sluice::cli
