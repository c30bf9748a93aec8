// Each exit code, and that --help and the docs list all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(ExitCodeTest, DoneIsZero) {
  EXPECT_EQ(run_sluice({"models"}).exit_code, 0);
  EXPECT_EQ(run_sluice({"--help"}).exit_code, 0);
  EXPECT_EQ(run_sluice({"--version"}).exit_code, 0);
}

TEST(ExitCodeTest, AFailedCheckOrFileIsOne) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("items.csv")) << "id,lower,upper,size\na,0,1,100\n";
  EXPECT_EQ(run_sluice({"allocate", folder.file("items.csv"), "--capacity", "10"}).exit_code, 1) << "does not fit";
  EXPECT_EQ(run_sluice({"models", "--json", "/no/such/folder/x.json"}).exit_code, 1) << "cannot be written";
}

TEST(ExitCodeTest, BadInputIsTwo) {
  EXPECT_EQ(run_sluice({"fly"}).exit_code, 2) << "no such command";
  EXPECT_EQ(run_sluice({"models", "--fly"}).exit_code, 2) << "no such option";
  EXPECT_EQ(run_sluice({"plan", "resnet20", "--batch", "2", "--threads", "1", "--fast", "64KiB"}).exit_code, 2)
      << "infeasible";
  EXPECT_EQ(run_sluice({"train", "resnet20", "--processors", "device:1,host@abacus:1"}).exit_code, 2) << "unsupported";
}

TEST(ExitCodeTest, InterruptedIsOneHundredAndThirty) {
  const CommandResult result = interrupt_sluice(
      {"train", "resnet20", "--batch", "2", "--threads", "1", "--fast", "60%", "--steps", "100000"}, "step      1");
  EXPECT_EQ(result.exit_code, 130) << result.errors;
}

TEST(ExitCodeTest, HelpAndThePageListTheSameCodes) {
  const std::string help = run_sluice({"--help"}).output;
  const std::string page = read_text(SLUICE_SOURCE_FOLDER "/docs/command-line.md");
  const std::size_t begin = help.find("Exit status:\n");
  ASSERT_NE(begin, std::string::npos);
  std::istringstream lines(help.substr(begin));
  std::string line;
  std::getline(lines, line);
  int codes = 0;
  for (; std::getline(lines, line) && !line.empty(); ++codes) {
    const std::string code = line.substr(2, 3);
    EXPECT_THAT(page, HasSubstr("| " + code.substr(code.find_first_not_of(' ')) + " | " + line.substr(7) + " |"));
  }
  EXPECT_EQ(codes, 4);
}

}  // namespace
}  // namespace sluice
