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
#include <fstream>
#include <sstream>
#include <thread>

namespace sluice {

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> sluice_words(const std::vector<std::string>& arguments) {
  ::setenv("XDG_CACHE_HOME", SLUICE_TEST_CACHE, 1);
  std::vector<std::string> words{SLUICE_COMMAND};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

pid_t start(std::vector<std::string> words, const std::string& output, const std::string& errors) {
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

}  // namespace

pid_t start_sluice(const std::vector<std::string>& arguments, const std::string& output, const std::string& errors) {
  return start(sluice_words(arguments), output, errors);
}

CommandResult run_program(const std::vector<std::string>& words) {
  const TemporaryFolder folder;
  return collect_sluice(start(words, folder.file("out"), folder.file("err")), folder.file("out"), folder.file("err"));
}

bool is_installed(const std::string& program) {
  return run_program({"sh", "-c", "command -v " + program}).exit_code == 0;
}

CommandResult run_in_terminal(const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<std::string> words = sluice_words(arguments);
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

CommandResult run_sluice(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string output = folder.file("out");
  const std::string errors = folder.file("err");
  return collect_sluice(start_sluice(arguments, output, errors), output, errors);
}

CommandResult interrupt_sluice(const std::vector<std::string>& arguments, const std::string& after) {
  const TemporaryFolder folder;
  const std::string output = folder.file("out");
  const std::string errors = folder.file("err");
  const pid_t process = start_sluice(arguments, output, errors);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (read_text(output).find(after) == std::string::npos && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_NE(read_text(output).find(after), std::string::npos) << read_text(errors);
  ::kill(process, SIGINT);
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

}  // namespace sluice
