// Runs `sluice` and gives back what it printed, and temporary folders to run it in.
//
// call_sluice() calls the command's code in this process: nearly everything can be asked so. run_sluice() and those below it
// start the built program, for what only a process shows: streams, signals, terminals, processes of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sluice::tests {

struct CommandResult {
  int exit_code = 0;  // 128 + signal when killed
  std::string output;
  std::string errors;
};

using Words = std::vector<std::string>;

// Measured op times are kept in the build folder, so that only the first test that needs them measures.
CommandResult call_sluice(const Words& arguments);
CommandResult run_sluice(const Words& arguments);

// What it writes with --json, of a call that ends with `exit_code`.
nlohmann::json document_of(Words arguments, int exit_code = 0);

// `command` of the smallest model that is there, with an emulated slow tier, so that no disk is measured.
Words tiny(const std::string& command, const Words& more = {});

Words joined(Words words, const Words& more);

// As run_sluice(), but these signals are sent, one shortly after the other, as soon as standard output holds `after`.
CommandResult signal_sluice(const Words& arguments, const std::string& after, const std::vector<int>& signals);
CommandResult interrupt_sluice(const Words& arguments, const std::string& after);  // by Ctrl-C's

// The same in two parts, for tests that do something meanwhile: both files get what it prints.
pid_t start_sluice(const Words& arguments, const std::string& output, const std::string& errors);
CommandResult collect_sluice(pid_t process, const std::string& output, const std::string& errors);

// Any program, found as the shell finds it.
CommandResult run_program(const Words& words);

// The built `sluice` on a terminal of 120 columns: `output` is all that it shows, errors too. `environment` is set on top of
// the test's own.
using Environment = std::vector<std::pair<std::string, std::string>>;
CommandResult run_in_terminal(const Words& arguments, const Environment& environment);

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string read_text(const std::string& path);
nlohmann::json read_json(const std::string& path);

}  // namespace sluice::tests
