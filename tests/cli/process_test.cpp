// What only a process shows: its exit status, its two streams, signals, and what a terminal gets to see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/command_runner.hpp"

namespace sluice::tests {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kRedName = "\033[1;31msluice:\033[0m ";
constexpr const char* kEscape = "\033[";
const Environment kColours{{"TERM", "xterm-256color"}, {"NO_COLOR", ""}, {"LC_ALL", "C"}};

Environment colours_but(const std::string& variable, const std::string& value) {
  Environment environment = kColours;
  environment.emplace_back(variable, value);
  return environment;
}

TEST(ProcessTest, DoneIsZero) {
  const CommandResult version = run_sluice({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.output, StartsWith("sluice 0."));
}

TEST(ProcessTest, ADocumentOnStandardOutputIsAloneThere) {
  const CommandResult listed = run_sluice({"models", "--json", "-"});
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_EQ(json::parse(listed.output)["command"], "models");
  EXPECT_THAT(listed.errors, HasSubstr("resnet20"));
  const CommandResult quiet = run_sluice({"-q", "models", "--json", "-"});
  EXPECT_EQ(json::parse(quiet.output)["command"], "models");
  EXPECT_THAT(quiet.errors, IsEmpty());
}

// One document, though a sweep writes what it has so far to a file again and again.
TEST(ProcessTest, ASweepWritesOneDocumentToStandardOutput) {
  const CommandResult swept = run_sluice({"sweep", "resnet20:2", "--threads", "1", "--slow", "optane", "--fast",
                                          "60%,80%", "--planners", "sentinel", "--json", "-"});
  ASSERT_EQ(swept.exit_code, 0) << swept.errors;
  EXPECT_EQ(json::parse(swept.output)["complete"], true);
}

TEST(ProcessTest, BadInputIsTwoAndADocumentOfItsOwn) {
  const CommandResult wrong = run_sluice({"plan", "resnet21", "--json", "-"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.errors, StartsWith("sluice: "));
  EXPECT_THAT(wrong.errors, HasSubstr(json::parse(wrong.output)["error"]["message"].get<std::string>()));
}

TEST(ProcessTest, ADocumentThatCannotBeWrittenIsOne) {
  const CommandResult full = run_program({"sh", "-c", std::string(SLUICE_COMMAND) + " models --json - > /dev/full"});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.errors, HasSubstr("cannot write the JSON document to standard output: No space left on device"));
}

TEST(ProcessTest, InterruptedIsOneHundredAndThirty) {
  const CommandResult stopped = interrupt_sluice(tiny("train", {"--fast", "60%", "--steps", "100000"}), "step      1");
  EXPECT_EQ(stopped.exit_code, 130) << stopped.errors;
}

TEST(ProcessTest, ACommandWhoseCallerHasEndedDoesNothing) {
  const CommandResult orphan = run_program({"env", "SLUICE_PARENT=1", SLUICE_COMMAND, "models"});
  EXPECT_EQ(orphan.exit_code, 130);
  EXPECT_EQ(orphan.output, "");
}

TEST(TerminalTest, ColoursAreForATerminalThatWantsThem) {
  EXPECT_THAT(run_in_terminal({"train", "resnet21"}, kColours).output, HasSubstr(kRedName));
  EXPECT_THAT(run_in_terminal({"plan", "--help"}, kColours).output, HasSubstr("\033[1mOptimizer\033[0m:"));
  EXPECT_THAT(run_in_terminal({"train", "resnet21"}, colours_but("NO_COLOR", "1")).output, Not(HasSubstr(kEscape)));
  EXPECT_THAT(run_in_terminal({"plan", "--help"}, colours_but("TERM", "dumb")).output, Not(HasSubstr(kEscape)));
  EXPECT_THAT(run_in_terminal({"doctor", "--colour", "never"}, kColours).output, Not(HasSubstr(kEscape)));
  EXPECT_THAT(run_sluice({"train", "resnet21"}).errors, Not(HasSubstr(kEscape)));
  EXPECT_THAT(run_sluice({"doctor", "--color", "always"}).output, HasSubstr("\033[32mok"));
}

// Measured into a cache of its own, so that there is something to wait for.
TEST(TerminalTest, ABarIsRewrittenInPlaceAndGone) {
  const TemporaryFolder folder;
  const auto profile = [&](const Words& more, const Environment& environment) {
    std::filesystem::remove_all(folder.file("cache"));
    return run_in_terminal(tiny("profile", joined({"--cache-dir", folder.file("cache")}, more)), environment);
  };
  const CommandResult result = profile({}, kColours);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("\r\033[Kmeasuring ops  ["));
  EXPECT_THAT(run_in_terminal({"machine", "--slow", "file", "--threads", "1"}, kColours).output,
              HasSubstr("\r\033[Kmeasuring tiers and links  0:0"))
      << "what cannot be counted";
  const std::size_t last = result.output.rfind("measuring ops  [");
  EXPECT_NE(result.output.find("\r\033[K", last), std::string::npos) << "wiped off before the result";
  EXPECT_TRUE(std::ranges::all_of(result.output, [](char c) { return static_cast<unsigned char>(c) < 128; }));
  EXPECT_THAT(profile({}, colours_but("LC_ALL", "C.UTF-8")).output, HasSubstr("[\u2591"));
  const CommandResult quiet = profile({"--quiet"}, kColours);
  EXPECT_THAT(quiet.output, Not(HasSubstr("measuring")));
  EXPECT_THAT(quiet.output, HasSubstr("sum of op times"));
}

TEST(TerminalTest, TheTimeLeftIsShownOnceSomethingIsDone) {
  const CommandResult result = run_in_terminal(
      {"plan", "resnet32", "--batch", "2", "--threads", "1", "--slow", "optane", "--fast", "60%"}, kColours);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, ::testing::ContainsRegex("planning  \\[#+\\.+\\] +[0-9]+ %  [0-9]+/100  0:[0-9]+ left"));
}

}  // namespace
}  // namespace sluice::tests
