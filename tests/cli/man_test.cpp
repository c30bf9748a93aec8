// The manual page: every command and option is on it, and roff finds nothing to complain of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ManTest : public ::testing::Test {
 protected:
  ManTest() : page_(run_sluice({"man"})) {
    EXPECT_EQ(page_.exit_code, 0) << page_.errors;
    std::ofstream(folder_.file("sluice.1")) << page_.output;
  }

  const CommandResult page_;
  TemporaryFolder folder_;
};

// As roff writes it: a minus sign, not a hyphen.
std::string in_roff(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '-' ? "\\-" : std::string(1, c);
  return result;
}

TEST_F(ManTest, EveryCommandAndOptionIsOnIt) {
  const json tree = json::parse(run_sluice({"man", "--json", "-"}).output);
  EXPECT_GT(tree["commands"].size(), 15U);
  std::size_t options = 0;
  for (const json& command : tree["commands"]) {
    const std::string name = command["name"];
    EXPECT_THAT(page_.output, HasSubstr(".SS \"sluice " + in_roff(name) + "\"\n"));
    EXPECT_THAT(run_sluice({"--help"}).output, HasSubstr("\n  " + name + " "));
    const std::string help = run_sluice({name, "--help"}).output;
    for (const json& option : command["options"]) {
      for (const std::string each : option["names"]) {
        ++options;
        EXPECT_THAT(page_.output, HasSubstr(in_roff(each))) << name;
        EXPECT_THAT(help, HasSubstr(each)) << name;
      }
    }
  }
  EXPECT_GT(options, 300U);
}

TEST_F(ManTest, WhatHelpShowsIsInTheTree) {
  const json tree = json::parse(run_sluice({"man", "--json", "-"}).output);
  for (const json& command : tree["commands"]) {
    std::string known;
    for (const json& option : command["options"]) {
      for (const std::string each : option["names"]) known += " " + each + " ";
    }
    std::istringstream help(run_sluice({command["name"], "--help"}).output);
    for (std::string line; std::getline(help, line);) {
      if (!line.starts_with("  --")) continue;
      const std::string name = line.substr(2, line.find_first_of(" ,", 2) - 2);
      EXPECT_THAT(known, HasSubstr(" " + name + " ")) << command["name"];
    }
  }
}

TEST_F(ManTest, RoffHasNothingToComplainOf) {
  if (!is_installed("groff")) GTEST_SKIP() << "no groff here";
  const CommandResult result = run_program({"groff", "-man", "-Tutf8", "-ww", "-z", folder_.file("sluice.1")});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors, "");
}

// A page without a date does not change from build to build; nothing else is complained of.
TEST_F(ManTest, LintHasNothingToComplainOfButTheDate) {
  if (!is_installed("mandoc")) GTEST_SKIP() << "no mandoc here";
  const CommandResult result = run_program({"mandoc", "-T", "lint", "-W", "warning", folder_.file("sluice.1")});
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, HasSubstr("missing date")) << line;
}

TEST_F(ManTest, ExitCodesAndAnExampleOfEachCommandAreOnIt) {
  for (const char* code : {"0", "1", "2", "130"}) {
    EXPECT_THAT(page_.output, HasSubstr(std::string("\\fB") + code + "\\fR\n"));
  }
  EXPECT_THAT(page_.output, HasSubstr("Example: sluice train resnet20"));
}

}  // namespace
}  // namespace sluice
