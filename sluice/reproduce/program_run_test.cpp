#include "sluice/reproduce/program_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>

#include "sluice/testing/git_repository.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;

ProgramRun shell(const std::string& script, const std::filesystem::path& folder = {}) {
  return {{"sh", "-c", script}, folder, {}, {}, {}};
}

TEST(ProgramRunTest, GivesStatusOutputAndErrors) {
  EXPECT_EQ(*run_program(shell("exit 3")), 3);
  EXPECT_EQ(*run_program(shell("kill -9 $$")), 128 + SIGKILL);
  EXPECT_EQ(*run_program({{"no-such-program-here"}, {}, {}, {}, {}}), 127);
  EXPECT_EQ(*output_of_program(shell("echo one; echo two >&2")), "one\n");
  EXPECT_THAT(output_of_program(shell("echo why >&2; exit 1")).error().message, HasSubstr("ended with 1: why"));
}

TEST(ProgramRunTest, RunsInItsFolderWithItsEnvironmentAndNoInput) {
  const TestRepository folder;
  ProgramRun run = shell("pwd; echo $SLUICE_TEST_WORD; cat; echo error >&2", folder.root());
  run.environment["SLUICE_TEST_WORD"] = "word";
  run.output = folder.root() / "out";
  run.errors = folder.root() / "err";
  ASSERT_EQ(*run_program(run), 0);
  std::stringstream printed, errors;
  printed << std::ifstream(run.output).rdbuf();
  errors << std::ifstream(run.errors).rdbuf();
  EXPECT_EQ(printed.str(), std::filesystem::canonical(folder.root()).string() + "\nword\n");
  EXPECT_EQ(errors.str(), "error\n");
}

TEST(ProgramRunTest, AFileThatCannotBeWrittenIsNamed) {
  ProgramRun run = shell("true");
  run.output = "/nowhere/out";
  EXPECT_THAT(run_program(run).error().message, HasSubstr("cannot write /nowhere/out"));
}

// The shell waits for what it has started, which gets the signal too, as the group does.
TEST(ProgramRunTest, InterruptionReachesWhatTheProgramHasStarted) {
  const TestRepository folder;
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = run_program(shell("sh -c 'echo $$ > child; exec sleep 60'; true", folder.root()), [&] {
    return !std::filesystem::exists(folder.root() / "child") ||
           std::filesystem::file_size(folder.root() / "child") == 0;
  });
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, ErrorCode::kInterrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  pid_t child = 0;
  std::ifstream(folder.root() / "child") >> child;
  ASSERT_GT(child, 1);
  EXPECT_NE(::kill(child, 0), 0);
}

}  // namespace
}  // namespace sluice
