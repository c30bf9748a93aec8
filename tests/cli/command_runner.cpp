#include "tests/cli/command_runner.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "tools/run_command.hpp"

namespace sluice::tests {

namespace {

std::vector<char*> pointers_to(Words& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

Words sluice_words(const Words& arguments) {
  ::setenv("XDG_CACHE_HOME", SLUICE_TEST_CACHE, 1);
  Words words{SLUICE_COMMAND};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

pid_t start(Words words, const std::string& output, const std::string& errors) {
  const std::vector<char*> pointers = pointers_to(words);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t process = -1;
  EXPECT_EQ(::posix_spawnp(&process, pointers.front(), &actions, nullptr, pointers.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return process;
}

// Everything that comes from the other end, until nobody holds it any more.
std::string read_to_the_end(int terminal) {
  std::string shown;
  std::array<char, 4096> part{};
  for (ssize_t count = 0; (count = ::read(terminal, part.data(), part.size())) > 0;) {
    shown.append(part.data(), static_cast<std::size_t>(count));
  }
  return shown;
}

// Sends what this process writes to `descriptor` to a file while it lives.
class Redirection {
 public:
  Redirection(int descriptor, const std::string& path) : descriptor_(descriptor), before_(::dup(descriptor)) {
    flush();
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT_GE(::dup2(file, descriptor_), 0) << path;
    ::close(file);
  }
  ~Redirection() {
    flush();
    ::dup2(before_, descriptor_);
    ::close(before_);
  }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;

 private:
  static void flush() {
    std::cout.flush();
    std::fflush(nullptr);
  }
  int descriptor_, before_;
};

}  // namespace

CommandResult call_sluice(const Words& arguments) {
  const TemporaryFolder folder;
  Words words = sluice_words(arguments);
  std::vector<char*> pointers = pointers_to(words);
  CommandResult result;
  {
    const Redirection output(STDOUT_FILENO, folder.file("out")), errors(STDERR_FILENO, folder.file("err"));
    cli::ErrorDestination destination;
    result.exit_code = cli::run_command(static_cast<int>(words.size()), pointers.data(), destination);
  }
  result.output = read_text(folder.file("out"));
  result.errors = read_text(folder.file("err"));
  return result;
}

nlohmann::json document_of(Words arguments, int exit_code) {
  const TemporaryFolder folder;
  const CommandResult result = call_sluice(joined(std::move(arguments), {"--json", folder.file("out.json")}));
  EXPECT_EQ(result.exit_code, exit_code) << result.errors;
  return read_json(folder.file("out.json"));
}

Words tiny(const std::string& command, const Words& more) {
  return joined({command, "resnet20", "--batch", "2", "--threads", "1", "--slow", "optane"}, more);
}

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

pid_t start_sluice(const Words& arguments, const std::string& output, const std::string& errors) {
  return start(sluice_words(arguments), output, errors);
}

CommandResult run_program(const Words& words) {
  const TemporaryFolder folder;
  return collect_sluice(start(words, folder.file("out"), folder.file("err")), folder.file("out"), folder.file("err"));
}

CommandResult run_in_terminal(const Words& arguments, const Environment& environment) {
  Words words = sluice_words(arguments);
  const std::vector<char*> pointers = pointers_to(words);
  struct winsize size {};
  size.ws_row = 40;
  size.ws_col = 120;
  int terminal = -1;
  const pid_t process = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (process == 0) {
    for (const auto& [variable, value] : environment) ::setenv(variable.c_str(), value.c_str(), 1);
    ::execv(SLUICE_COMMAND, pointers.data());
    ::_exit(127);
  }
  EXPECT_GT(process, 0);
  CommandResult result;
  result.output = read_to_the_end(terminal);
  ::close(terminal);
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

CommandResult collect_sluice(pid_t process, const std::string& output, const std::string& errors) {
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), read_text(output), read_text(errors)};
}

CommandResult run_sluice(const Words& arguments) {
  const TemporaryFolder folder;
  const std::string output = folder.file("out");
  const std::string errors = folder.file("err");
  return collect_sluice(start_sluice(arguments, output, errors), output, errors);
}

CommandResult interrupt_sluice(const Words& arguments, const std::string& after) {
  return signal_sluice(arguments, after, {SIGINT});
}

CommandResult signal_sluice(const Words& arguments, const std::string& after, const std::vector<int>& signals) {
  const TemporaryFolder folder;
  const std::string output = folder.file("out");
  const std::string errors = folder.file("err");
  const pid_t process = start_sluice(arguments, output, errors);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (read_text(output).find(after) == std::string::npos && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_NE(read_text(output).find(after), std::string::npos) << read_text(errors);
  for (const int signal : signals) {
    ::kill(process, signal);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return collect_sluice(process, output, errors);
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::path(::testing::TempDir()) / "sluice-cli-XXXXXX").string();
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_text(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

nlohmann::json read_json(const std::string& path) { return nlohmann::json::parse(read_text(path)); }

}  // namespace sluice::tests
