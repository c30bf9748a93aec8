// How much a command says: --quiet and --verbose, before and after its name, and --json on standard output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::vector<std::string> kPlan{"plan", "resnet20", "--batch", "2", "--threads", "1", "--fast", "60%"};

std::vector<std::string> plan_with(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  std::vector<std::string> arguments = before;
  arguments.insert(arguments.end(), kPlan.begin(), kPlan.end());
  arguments.insert(arguments.end(), after.begin(), after.end());
  return arguments;
}

TEST(VerbosityTest, VerboseTellsOfCachesAndAttempts) {
  for (const auto& arguments : {plan_with({"-v"}, {}), plan_with({}, {"--verbose"})}) {
    const CommandResult result = run_sluice(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("sluice: debug: profile cache "));
    EXPECT_THAT(result.errors, HasSubstr("sluice: debug: joint plans resnet20 in "));
    EXPECT_THAT(result.errors, HasSubstr("the best so far"));
  }
  EXPECT_THAT(run_sluice(kPlan).errors, Not(HasSubstr("debug")));
}

// The search is cut short, which is worth a note.
TEST(VerbosityTest, QuietLeavesResultsAndErrors) {
  const std::vector<std::string> cut_short{"--planning-time", "1e-9"};
  EXPECT_THAT(run_sluice(plan_with({}, cut_short)).errors, HasSubstr("note: the search for a plan was cut short"));
  for (const std::string flag : {"-q", "--quiet"}) {
    const CommandResult before = run_sluice(plan_with({flag}, cut_short));
    EXPECT_THAT(before.errors, IsEmpty());
    EXPECT_THAT(before.output, HasSubstr("plan by joint"));
    std::vector<std::string> after = cut_short;
    after.push_back(flag);
    EXPECT_THAT(run_sluice(plan_with({}, after)).errors, IsEmpty());
  }
  const CommandResult wrong = run_sluice({"-q", "plan", "resnet21"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("did you mean 'resnet20'"));
}

TEST(VerbosityTest, BothAtOnceMakeNoSense) {
  for (const auto& arguments : {plan_with({"-q"}, {"-v"}), plan_with({}, {"-q", "-v"})}) {
    const CommandResult result = run_sluice(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.errors, HasSubstr("--quiet and --verbose exclude each other"));
  }
}

TEST(VerbosityTest, JsonOnStandardOutputIsAloneThere) {
  const CommandResult result = run_sluice(plan_with({}, {"--json", "-"}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(nlohmann::json::parse(result.output)["command"], "plan");
  EXPECT_THAT(result.errors, HasSubstr("plan by joint"));
  const CommandResult quiet = run_sluice(plan_with({"-q"}, {"--json", "-"}));
  EXPECT_EQ(nlohmann::json::parse(quiet.output)["command"], "plan");
  EXPECT_THAT(quiet.errors, IsEmpty());
}

TEST(VerbosityTest, ASweepWritesOneDocumentToStandardOutput) {
  const CommandResult result = run_sluice(
      {"sweep", "resnet20:2", "--threads", "1", "--fast", "60%,80%", "--planners", "sentinel", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(nlohmann::json::parse(result.output)["complete"], true);
}

TEST(VerbosityTest, ADocumentThatCannotBeWrittenIsAnError) {
  const CommandResult result = run_program({"sh", "-c", std::string(SLUICE_COMMAND) + " models --json - > /dev/full"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, HasSubstr("cannot write the JSON document to standard output: No space left on device"));
}

}  // namespace
}  // namespace sluice
