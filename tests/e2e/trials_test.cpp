// Plans decided by trials while training runs, as a user sees it: the same bits, and a plan that can be kept. And access
// counts, by which planners order tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"

namespace sluice::tests {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class TrialsTest : public ::testing::Test {
 protected:
  CommandResult run(std::vector<std::string> arguments, const std::vector<std::string>& more = {}) const {
    arguments.insert(arguments.end(), {"--batch", "4", "--threads", "1", "--slow", "optane"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_sluice(arguments);
  }
  json train(std::vector<std::string> more) const {
    more.insert(more.end(), {"--steps", "12", "--json", folder_.file("out.json")});
    const CommandResult result = run({"train", "resnet20", "--fast", "40%"}, more);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return json::parse(read_text(folder_.file("out.json")));
  }
  static void expect_refused(const CommandResult& result, const std::string& reason) {
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.errors, HasSubstr(reason));
  }

  TemporaryFolder folder_;
};

TEST_F(TrialsTest, ChangeNoBitAndKeepOnePlan) {
  const json without = train({"--trials", "0"});
  EXPECT_FALSE(without.contains("trials"));
  for (const std::string planner : {"sentinel", "redl"}) {
    SCOPED_TRACE(planner);
    const json tried = train({"--planner", planner, "--save-plan", folder_.file("plan.json")});
    EXPECT_EQ(tried["parameter_hash"], without["parameter_hash"]);
    EXPECT_EQ(tried["final_loss"], without["final_loss"]);
    const json& trials = tried["trials"];
    EXPECT_EQ(trials["profiling_steps"], 0);
    std::int64_t measured = 0;
    std::int64_t kept = 0;
    for (const json& plan : trials["plans"]) {
      measured += static_cast<std::int64_t>(plan["measured_ms"].size());
      kept += plan["kept"].get<bool>() ? 1 : 0;
      if (plan["kept"].get<bool>()) {
        EXPECT_EQ(plan["planner_config"], tried["planner_config"]);
      }
    }
    EXPECT_EQ(measured, trials["trial_steps"]);
    EXPECT_EQ(kept, 1);
    EXPECT_LE(trials["warmup_steps"].get<int>() + trials["trial_steps"].get<int>(), 12);
    const json again = train({"--plan", folder_.file("plan.json")});
    EXPECT_EQ(again["planner_config"], tried["planner_config"]);
    EXPECT_EQ(again["parameter_hash"], without["parameter_hash"]);
    EXPECT_FALSE(again.contains("trials"));
  }
}

// By a profile of ops that take a tenth of their time, so that no step is as short as redl's search could wish for.
TEST_F(TrialsTest, AtMostAsManyStepsAsAllowed) {
  const std::string file = folder_.file("profile.json");
  ASSERT_EQ(run({"profile", "resnet20", "--save", file}).exit_code, 0);
  json profile = json::parse(read_text(file));
  for (json& op : profile["ops"]) op["seconds"] = op["seconds"].get<double>() / 10;
  std::ofstream(file) << profile;
  const json tried = train({"--planner", "redl", "--trials", "2", "--profile", file});
  EXPECT_EQ(tried["trials"]["trial_steps"], 2);
  EXPECT_FALSE(tried["trials"]["complete"].get<bool>());
}

TEST_F(TrialsTest, InterruptedInBetweenTheyLeaveAPlanToGoOnWith) {
  const std::string plan = folder_.file("plan.json");
  const CommandResult stopped =
      interrupt_sluice({"train", "resnet20", "--batch", "4", "--threads", "1", "--slow", "optane", "--fast", "40%",
                        "--planner", "redl", "--steps", "100000", "--save-plan", plan},
                       "step      1");
  ASSERT_EQ(stopped.exit_code, 130) << stopped.errors << stopped.output;
  EXPECT_EQ(train({"--plan", plan})["parameter_hash"], train({"--trials", "0"})["parameter_hash"]);
}

TEST_F(TrialsTest, ComparisonsTakeTheKeptPlan) {
  const CommandResult result =
      run({"compare", "resnet20", "--fast", "40%", "--steps", "3", "--planners", "redl,on-demand"},
          {"--json", folder_.file("out.json")});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const json rows = json::parse(read_text(folder_.file("out.json")))["results"];
  EXPECT_GT(rows[1]["trials"]["trial_steps"], 0);
  for (const json& plan : rows[1]["trials"]["plans"]) {
    if (plan["kept"].get<bool>()) {
      EXPECT_EQ(plan["planner_config"], rows[1]["planner_config"]);
    }
  }
  EXPECT_TRUE(rows[2]["trials"].is_null());
  EXPECT_EQ(rows[1]["parameter_hash"], rows[0]["parameter_hash"]) << "the comparison starts anew after trials";
  EXPECT_THAT(result.output, HasSubstr("redl chose its plan in"));
}

TEST_F(TrialsTest, AreRefusedWhereTheyMeanNothing) {
  expect_refused(run({"train", "resnet20"}, {"--trials", "-1"}), "--trials must not be negative");
  expect_refused(run({"train", "resnet20"}, {"--planner", "on-demand", "--trials", "3"}),
                 "on-demand has nothing to try");
  expect_refused(run({"train", "resnet20"}, {"--plan", SLUICE_COMMAND, "--trials", "3"}), "leave out --trials");
  expect_refused(run({"train", "lstm"}, {"--sequences", "20,25", "--trials", "3"}), "--trials compares steps of one");
  expect_refused(run({"train", "lstm"}, {"--sequences", "20,25", "--save-plan", "p"}),
                 "--save-plan is about one graph");
  expect_refused(run({"compare", "resnet20", "--planners", "redl"}, {"--trials", "-1"}), "must not be negative");
}

TEST_F(TrialsTest, AccessCountsReachThePlanner) {
  const std::string counts = folder_.file("profile.json");
  const CommandResult profiled = run({"profile", "resnet20", "--accesses", "--save", counts});
  ASSERT_EQ(profiled.exit_code, 0) << profiled.errors;
  const json tried = train({"--planner", "sentinel", "--accesses", counts, "--profile", counts});
  EXPECT_EQ(tried["trials"]["profiling_steps"], 1);
  for (const std::string command : {"plan", "simulate"}) {
    const CommandResult result = run({command, "resnet20", "--fast", "40%", "--accesses", counts});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
  }
  const CommandResult other =
      run_sluice({"plan", "resnet20", "--batch", "8", "--threads", "1", "--slow", "optane", "--accesses", counts});
  expect_refused(other, "is of another model, batch or setting");
  ASSERT_EQ(run({"profile", "resnet20", "--save", counts}).exit_code, 0);
  expect_refused(run({"plan", "resnet20", "--accesses", counts}), "holds no access counts");
}

}  // namespace
}  // namespace sluice::tests
