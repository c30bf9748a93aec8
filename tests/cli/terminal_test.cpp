// What a terminal shows, and what does not come through when there is none: colours, signs beyond ASCII, progress.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kRedName = "\033[1;31msluice:\033[0m ";
const Environment kColours{{"TERM", "xterm-256color"}, {"NO_COLOR", ""}, {"LC_ALL", "C"}};

Environment colours_but(const std::string& variable, const std::string& value) {
  Environment environment = kColours;
  environment.emplace_back(variable, value);
  return environment;
}

bool is_ascii(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 128; });
}

TEST(TerminalTest, ErrorsAreRedOnATerminalThatWantsColours) {
  EXPECT_THAT(run_in_terminal({"train", "resnet21"}, kColours).output, HasSubstr(kRedName));
  EXPECT_THAT(run_in_terminal({"fly"}, kColours).output, HasSubstr(kRedName));
}

TEST(TerminalTest, NothingIsColouredWhereThatIsNotWanted) {
  const std::string escape = "\033[";
  for (const Environment& environment : {colours_but("NO_COLOR", "1"), colours_but("TERM", "dumb")}) {
    EXPECT_THAT(run_in_terminal({"train", "resnet21"}, environment).output, Not(HasSubstr(escape)));
    EXPECT_THAT(run_in_terminal({"plan", "--help"}, environment).output, Not(HasSubstr(escape)));
  }
  EXPECT_THAT(run_in_terminal({"train", "resnet21", "--colour", "never"}, kColours).output, Not(HasSubstr(escape)));
  EXPECT_THAT(run_in_terminal({"doctor", "--colour", "never"}, kColours).output, Not(HasSubstr(escape)));
  EXPECT_THAT(run_sluice({"train", "resnet21"}).errors, Not(HasSubstr(escape)));
  EXPECT_THAT(run_sluice({"doctor"}).output, Not(HasSubstr(escape)));
}

TEST(TerminalTest, ColoursCanBeForced) {
  EXPECT_THAT(run_sluice({"--colour", "always", "train", "resnet21"}).errors, HasSubstr(kRedName));
  EXPECT_THAT(run_sluice({"doctor", "--color", "always"}).output, HasSubstr("\033[32mok"));
  const CommandResult wrong = run_sluice({"models", "--colour", "sometimes"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("it is auto, always or never"));
}

TEST(TerminalTest, HeadingsOfHelpStandOut) {
  EXPECT_THAT(run_in_terminal({"plan", "--help"}, kColours).output, HasSubstr("\033[1mOptimizer\033[0m:"));
}

// Measured into a cache of its own, so that there is something to wait for.
class ProgressTest : public ::testing::Test {
 protected:
  CommandResult profile(std::vector<std::string> more, const Environment& environment) const {
    more.insert(more.begin(), {"profile", "resnet20", "--batch", "2", "--threads", "1", "--slow", "optane",
                               "--cache-dir", folder_.file("cache")});
    return run_in_terminal(more, environment);
  }
  TemporaryFolder folder_;
};

TEST_F(ProgressTest, ABarIsRewrittenInPlaceAndGone) {
  const CommandResult result = profile({}, kColours);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("\r\033[Kmeasuring ops  ["));
  const std::size_t last = result.output.rfind("measuring ops  [");
  EXPECT_NE(result.output.find("\r\033[K", last), std::string::npos) << "wiped off before the result";
  EXPECT_TRUE(is_ascii(result.output)) << "the locale is C";
}

TEST_F(ProgressTest, TheTimeLeftIsShownOnceSomethingIsDone) {
  const CommandResult result = run_in_terminal(
      {"plan", "resnet32", "--batch", "2", "--threads", "1", "--slow", "optane", "--fast", "60%"}, kColours);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, ::testing::ContainsRegex("planning  \\[#+\\.+\\] +[0-9]+ %  [0-9]+/100  0:[0-9]+ left"));
}

TEST_F(ProgressTest, ALocaleOfUtf8GetsFullerSigns) {
  EXPECT_THAT(profile({}, colours_but("LC_ALL", "C.UTF-8")).output, HasSubstr("[\u2591"));
}

TEST_F(ProgressTest, QuietShowsTheResultAlone) {
  const CommandResult result = profile({"--quiet"}, kColours);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, Not(HasSubstr("measuring")));
  EXPECT_THAT(result.output, HasSubstr("sum of op times"));
}

TEST(TerminalTest, WhatCannotBeCountedShowsTheTime) {
  const TemporaryFolder folder;
  const CommandResult result =
      run_in_terminal({"machine", "--threads", "1", "--cache-dir", folder.file("cache")}, kColours);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, ::testing::ContainsRegex("measuring tiers and links  0:0[2-9], about 0:0[0-9] left"));
}

TEST(TerminalTest, NoCommandPrintsSignsBeyondAsciiInALocaleOfC) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--help"},
                                             {"train", "--help"},
                                             {"models"},
                                             {"planners"},
                                             {"doctor"},
                                             {"man"},
                                             {"inspect", "resnet20", "--batch", "2"}}) {
    EXPECT_TRUE(is_ascii(run_in_terminal(arguments, kColours).output)) << arguments.front();
  }
}

}  // namespace
}  // namespace sluice
