// Policies on the command line: simulated, compared, refused where a plan is wanted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<std::string> kSmall{"resnet20", "--batch", "8",      "--threads", "1",
                                      "--slow",   "optane",  "--fast", "30%"};

std::vector<std::string> small(const std::string& command, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{command};
  arguments.insert(arguments.end(), kSmall.begin(), kSmall.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(PoliciesTest, SimulateShowsTheStepInBalance) {
  const TemporaryFolder folder;
  const CommandResult result = run_sluice(
      small("simulate", {"--planner", "um", "--json", folder.file("out.json"), "--trace", folder.file("trace.json")}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("emulated"), HasSubstr("in balance"), HasSubstr("faults")));
  const json document = json::parse(read_text(folder.file("out.json")));
  EXPECT_EQ(document["planner"], "um");
  EXPECT_GT(document["policy"]["steady_bytes_in"].get<long>(), 0);
  EXPECT_GT(document["policy"]["figures"]["faults"].get<double>(), 0);
  EXPECT_LT(document["locality"]["by_bytes"].get<double>(), 1);
  EXPECT_FALSE(json::parse(read_text(folder.file("trace.json"))).empty());
}

TEST(PoliciesTest, CompareRunsThemToTheSameBits) {
  const TemporaryFolder folder;
  const CommandResult result = run_sluice(small("compare", {"--planners", "ial:period=0.01,memory-mode,um-prefetch",
                                                            "--steps", "4", "--json", folder.file("out.json")}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("note: ial is emulated"));
  const json document = json::parse(read_text(folder.file("out.json")));
  const json& results = document["results"];
  ASSERT_EQ(results.size(), 4U);
  for (const json& row : results) {
    SCOPED_TRACE(row["planner"].get<std::string>());
    EXPECT_EQ(row["parameter_hash"], results[0]["parameter_hash"]);
    if (row["planner"] == "fast-only") continue;
    EXPECT_EQ(row["fast_arena_bytes"], document["fast_only_bytes"]) << "data stay in fast memory";
    EXPECT_LT(row["fast_budget_bytes"].get<long>(), results[0]["fast_budget_bytes"].get<long>());
    EXPECT_LT(row["locality"]["by_bytes"].get<double>(), 1);
  }
}

TEST(PoliciesTest, DtrMakesAgainInsteadOfMoving) {
  const TemporaryFolder folder;
  const std::vector<std::string> tiny{"resnet20", "--batch", "8", "--threads", "1", "--fast", "60%"};
  const auto tiny_with = [&](const std::string& command, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{command};
    arguments.insert(arguments.end(), tiny.begin(), tiny.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_sluice(arguments);
  };
  const CommandResult simulated = tiny_with(
      "simulate", {"--planner", "dtr", "--json", folder.file("out.json"), "--trace", folder.file("trace.json")});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.errors;
  EXPECT_THAT(simulated.output, AllOf(HasSubstr("made again"), HasSubstr("recomputation")));
  const json document = json::parse(read_text(folder.file("out.json")));
  EXPECT_GT(document["policy"]["figures"]["ops made again"].get<double>(), 0);
  EXPECT_GT(document["parts_ms"]["recomputation"].get<double>(), 0);
  EXPECT_LE(document["policy"]["most_bytes"].get<long>(), document["fast_arena_bytes"].get<long>());
  EXPECT_FALSE(json::parse(read_text(folder.file("trace.json"))).empty());

  const CommandResult compared =
      tiny_with("compare", {"--planners", "dtr", "--steps", "4", "--json", folder.file("compared.json")});
  ASSERT_EQ(compared.exit_code, 0) << compared.errors;
  const json rows = json::parse(read_text(folder.file("compared.json")))["results"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1]["parameter_hash"], rows[0]["parameter_hash"]);
  EXPECT_EQ(rows[1]["bytes_in"], 0);
  EXPECT_EQ(rows[1]["fast_arena_bytes"], rows[1]["fast_budget_bytes"]) << "the budget is all that it has";
  EXPECT_GT(rows[1]["policy"]["figures"]["evictions"].get<double>(), 0);

  const CommandResult refused = tiny_with("plan", {"--planner", "dtr"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("has no plan"));
  std::vector<std::string> little = tiny;
  little.back() = "10%";
  little.insert(little.begin(), "train");
  little.insert(little.end(), {"--steps", "1", "--planner", "dtr"});
  const CommandResult infeasible = run_sluice(little);
  EXPECT_NE(infeasible.exit_code, 0);
  EXPECT_THAT(infeasible.errors, AllOf(HasSubstr("dtr"), HasSubstr("raise --fast")));
}

TEST(PoliciesTest, AreRefusedWithTheReason) {
  const auto errors_of = [](const std::vector<std::string>& arguments) {
    const CommandResult result = run_sluice(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    return result.errors;
  };
  EXPECT_THAT(errors_of(small("plan", {"--planner", "ial"})), HasSubstr("has no plan"));
  EXPECT_THAT(errors_of(small("simulate", {"--planner", "um:colour=red"})), HasSubstr("no setting 'colour'"));
  EXPECT_THAT(errors_of({"train", "resnet20", "--batch", "2", "--threads", "1", "--steps", "1", "--planner", "ial",
                         "--fast", "50%"}),
              HasSubstr("cannot address"));
}

}  // namespace
}  // namespace sluice
