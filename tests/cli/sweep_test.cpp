// sluice sweep: points that agree with the other commands, files that survive Ctrl-C, and lists that make no sense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SweepTest : public ::testing::Test {
 protected:
  std::vector<std::string> sweep(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"sweep", "resnet20:2", "--threads", "1", "--json", folder_.file("sweep.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  json run(const std::vector<std::string>& more) {
    result_ = run_sluice(sweep(more));
    EXPECT_EQ(result_.exit_code, 0) << result_.errors;
    return written();
  }
  json written() const { return json::parse(read_text(folder_.file("sweep.json"))); }

  TemporaryFolder folder_;
  CommandResult result_;
};

// With a cache of its own: another test may measure the disk again between the two commands.
TEST_F(SweepTest, PointsAreWhatSimulateSays) {
  const std::string cache = folder_.file("cache");
  const json document = run({"--fast", "60%,1%", "--planners", "sentinel,on-demand", "--html",
                             folder_.file("page.html"), "--cache-dir", cache});
  EXPECT_TRUE(document["complete"].get<bool>());
  ASSERT_EQ(document["models"].size(), 1U);
  const json& swept = document["models"][0];
  EXPECT_EQ(swept["batch"], 2);
  ASSERT_EQ(swept["points"].size(), 4U);
  EXPECT_GT(swept["points"][0]["smallest_feasible_bytes"], swept["points"][0]["budget_bytes"]);
  const json& point = swept["points"][2];
  EXPECT_EQ(point["planner"], "sentinel") << "smaller budgets come first";
  EXPECT_LE(point["bound_slowdown"], point["predicted_slowdown"]);
  EXPECT_EQ(point["planned_for_bytes"], point["budget_bytes"]);
  EXPECT_GE(point["predicted_slowdown"].get<double>(), 0.999);
  EXPECT_THAT(result_.output, AllOf(HasSubstr("infeasible"), HasSubstr("the smallest budget it can use is")));
  EXPECT_THAT(result_.output, HasSubstr("With 60 % of peak memory"));
  EXPECT_THAT(read_text(folder_.file("page.html")), AllOf(HasSubstr("resnet20"), HasSubstr("\"no_loss\":[]")));

  const CommandResult simulated =
      run_sluice({"simulate", "resnet20", "--batch", "2", "--threads", "1", "--fast", "60%", "--planner", "sentinel",
                  "--json", folder_.file("one.json"), "--cache-dir", cache});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.errors;
  const json one = json::parse(read_text(folder_.file("one.json")));
  EXPECT_EQ(one["budgets"][0], point["budget_bytes"]);
  EXPECT_EQ(one["predicted_ms"], point["predicted_ms"]);
  EXPECT_EQ(one["locality"]["by_bytes"], point["locality"]["by_bytes"]);
  EXPECT_EQ(one["bytes_in"], point["bytes_in"]);
}

TEST_F(SweepTest, RunsPointsBesideTheBaseline) {
  const json document = run({"--fast", "1%,70%", "--run", "--steps", "4"});
  const json& points = document["models"][0]["points"];
  EXPECT_FALSE(points[0].contains("measured")) << "too small a budget";
  const json& measured = points[1]["measured"];
  EXPECT_TRUE(measured["same_bits"].get<bool>());
  EXPECT_GT(measured["slowdown"].get<double>(), 0);
  EXPECT_NEAR(points[1]["predicted_ms"].get<double>() / measured["step_ms"].get<double>() - 1,
              measured["prediction_error"].get<double>(), 1e-9);
  EXPECT_THAT(result_.output, HasSubstr("same"));
}

TEST_F(SweepTest, FindsTheBudgetWithoutLoss) {
  const json document = run({"resnet32:2", "--no-loss", "5%", "--planners", "sentinel"});
  ASSERT_EQ(document["models"].size(), 2U);
  for (const json& swept : document["models"]) {
    ASSERT_EQ(swept["no_loss"].size(), 1U);
    const json& found = swept["no_loss"][0];
    EXPECT_LE(found["predicted_slowdown"].get<double>(), 1.05);
    EXPECT_LE(found["budget_bytes"], swept["fast_only_bytes"]);
    EXPECT_EQ(found["allowed_loss"], 0.05);
  }
  EXPECT_EQ(document["claims"].size(), 2U);
  EXPECT_THAT(result_.output, AllOf(HasSubstr("no loss MiB"), HasSubstr("ReDL, figure 11(b)")));
}

TEST_F(SweepTest, HasPricesAndTraffic) {
  const json document =
      run({"--fast", "40%,1%", "--planners", "sentinel", "--slow", "optane", "--price", "fast=2,slow=1"});
  const json& point = document["models"][0]["points"][1];
  EXPECT_GT(point["price"]["performance"].get<double>(), 0);
  EXPECT_LE(point["price"]["cost"].get<double>(), 1);
  EXPECT_LE(point["fast_operands"]["inputs"].get<double>(), 1);
  EXPECT_GT(point["bytes_out"].get<std::int64_t>(), 0);
}

TEST_F(SweepTest, NoLossIsOnePerCentWhenNothingFollows) {
  EXPECT_EQ(run({"--no-loss"})["models"][0]["no_loss"][0]["allowed_loss"], 0.01);
}

// The second model's points take hundreds of rounds: they are cut off, the first one's stay.
TEST_F(SweepTest, CtrlCKeepsWhatIsFinished) {
  const CommandResult result =
      interrupt_sluice(sweep({"resnet20:4", "--fast", "70%", "--run", "--steps", "400"}), "resnet20, batch 2: ");
  EXPECT_EQ(result.exit_code, 130) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("interrupted"));
  const json document = written();
  EXPECT_FALSE(document["complete"].get<bool>());
  EXPECT_TRUE(document["models"][0]["points"][0].contains("measured"));
}

struct BadSweep {
  const char* name;
  std::vector<std::string> arguments;
  std::string message;
};

class BadSweepTest : public ::testing::TestWithParam<BadSweep> {};

TEST_P(BadSweepTest, IsRefusedBeforeAnythingIsMeasured) {
  std::vector<std::string> arguments{"sweep"};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  const CommandResult result = run_sluice(arguments);
  EXPECT_EQ(result.exit_code, 2) << result.errors;
  EXPECT_THAT(result.errors, AllOf(StartsWith("sluice: "), HasSubstr(GetParam().message)));
  EXPECT_EQ(result.output, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSweepTest,
    ::testing::Values(
        BadSweep{"NoModel", {}, "models"},
        BadSweep{"UnknownModel", {"resnet20", "resnet21"}, "did you mean 'resnet20'"},
        BadSweep{"ModelTwice", {"resnet20", "resnet20"}, "'resnet20' twice"},
        BadSweep{"BatchIsNoNumber", {"resnet20:many"}, "behind the colon stands the batch"},
        BadSweep{"BatchZero", {"resnet20:0"}, "behind the colon stands the batch"},
        BadSweep{"UnknownPlanner", {"resnet20", "--planners", "sentinel,magic"}, "unknown planner 'magic'"},
        BadSweep{"NoPlanner", {"resnet20", "--planners", ""}, "unknown planner ''"},
        BadSweep{"PlannerTwice", {"resnet20", "--planners", "sentinel,sentinel"}, "--planners lists 'sentinel' twice"},
        BadSweep{"Baseline", {"resnet20", "--planners", "fast-only"}, "leave it out of --planners"},
        BadSweep{"ZeroBudget", {"resnet20", "--fast", "0%"}, "above 0%"},
        BadSweep{"EmptyBudget", {"resnet20", "--fast", ""}, "'' is not a size"},
        BadSweep{"TooMuch", {"resnet20", "--fast", "20%,120%"}, "take at most 100%"},
        BadSweep{"BudgetTwice", {"resnet20", "--fast", "20%,40%,20%"}, "--fast lists '20%' twice"},
        BadSweep{"BudgetAndNoLoss", {"resnet20", "--fast", "20%", "--no-loss", "1%"}, "leave out --fast"},
        BadSweep{"NoLossIsNoPercentage",
                 {"resnet20", "--no-loss", "little"},
                 "--no-loss little: 'little' is not a percentage"},
        BadSweep{"NegativeLoss", {"resnet20", "--no-loss=-1%"}, "is not a percentage"},
        BadSweep{"PriceOfZero", {"resnet20", "--price", "fast=0,slow=1"}, "both above 0"},
        BadSweep{"PriceAndNoLoss", {"resnet20", "--price", "fast=2,slow=1", "--no-loss", "1%"}, "leave out one"},
        BadSweep{"Svg", {"resnet20", "--svg-traffic", "t.svg"}, "--html FILE writes a page"},
        BadSweep{"WithinWithoutPrice", {"resnet20", "--within", "5%"}, "--price"},
        BadSweep{
            "WithinIsNoPercentage", {"resnet20", "--price", "fast=2,slow=1", "--within", "little"}, "--within little"},
        BadSweep{"TooFewSteps", {"resnet20", "--run", "--steps", "2"}, "leaves nothing to time"}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace sluice
