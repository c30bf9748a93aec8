// sluice worker: the other side of sluice compare. Speaks JSON lines on standard input and output.
#include <CLI/CLI.hpp>
#include <iostream>

#include "sluice/experiment/worker.hpp"
#include "tools/commands.hpp"

namespace sluice::cli {

void add_worker_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("worker", "");
  command->group("");  // hidden
  command->callback([&action] {
    action = []() -> Result<int> {
      experiment::serve_worker(std::cin, std::cout);
      return kExitOk;
    };
  });
}

}  // namespace sluice::cli
