// Runs the built `sluice` and gives back what it printed, and temporary folders to run it in.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

struct CommandResult {
  int exit_code = 0;  // 128 + signal when killed
  std::string output;
  std::string errors;
};

// Measured op times are kept in the build folder, so that only the first test that needs them measures.
CommandResult run_sluice(const std::vector<std::string>& arguments);

// The same, but SIGINT is sent as soon as standard output holds `after`.
CommandResult interrupt_sluice(const std::vector<std::string>& arguments, const std::string& after);

// The same in two parts, for tests that do something meanwhile: both files get what it prints.
pid_t start_sluice(const std::vector<std::string>& arguments, const std::string& output, const std::string& errors);
CommandResult collect_sluice(pid_t process, const std::string& output, const std::string& errors);

// Any program, found as the shell finds it.
CommandResult run_program(const std::vector<std::string>& words);
bool is_installed(const std::string& program);

// The built `sluice` on a terminal of 120 columns: `output` is all that it shows, errors too. `environment` is set on top of
// the test's own.
using Environment = std::vector<std::pair<std::string, std::string>>;
CommandResult run_in_terminal(const std::vector<std::string>& arguments, const Environment& environment);

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

}  // namespace sluice
