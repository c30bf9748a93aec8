#include "tests/cli/command_runner.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

namespace sluice {

pid_t start_sluice(const std::vector<std::string>& arguments, const std::string& output, const std::string& errors) {
  ::setenv("XDG_CACHE_HOME", SLUICE_TEST_CACHE, 1);
  std::vector<std::string> words{SLUICE_COMMAND};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t process = -1;
  EXPECT_EQ(::posix_spawn(&process, SLUICE_COMMAND, &actions, nullptr, pointers.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return process;
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
