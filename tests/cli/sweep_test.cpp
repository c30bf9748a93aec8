// sluice sweep: points that agree with the other commands, and files that survive Ctrl-C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command_runner.hpp"

namespace sluice::tests {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SweepTest : public ::testing::Test {
 protected:
  Words sweep(const Words& more) const {
    return joined({"sweep", "resnet20:2", "--threads", "1", "--slow", slow_, "--json", file_}, more);
  }
  json call(const Words& more) {
    result_ = call_sluice(sweep(more));
    EXPECT_EQ(result_.exit_code, 0) << result_.errors;
    return read_json(file_);
  }

  TemporaryFolder folder_;
  std::string slow_ = "optane";
  const std::string file_ = folder_.file("sweep.json");
  CommandResult result_;
};

// With a cache of its own: another test may measure again between the two commands.
TEST_F(SweepTest, PointsAreWhatSimulateSays) {
  const Words cache{"--cache-dir", folder_.file("cache")};
  const std::string page = folder_.file("page.html");
  const json document = call(joined(
      cache, {"--fast", "60%,1%", "--planners", "sentinel,on-demand", "--price", "fast=2,slow=1", "--html", page}));
  EXPECT_TRUE(document["complete"].get<bool>());
  const json& points = document["models"][0]["points"];
  ASSERT_EQ(points.size(), 4U);
  EXPECT_GT(points[0]["smallest_feasible_bytes"], points[0]["budget_bytes"]);
  const json& point = points[2];
  EXPECT_EQ(point["planner"], "sentinel") << "smaller budgets come first";
  EXPECT_LE(point["bound_slowdown"], point["predicted_slowdown"]);
  EXPECT_EQ(point["planned_for_bytes"], point["budget_bytes"]);
  EXPECT_THAT(result_.output, AllOf(HasSubstr("infeasible"), HasSubstr("the smallest budget it can use is")));
  EXPECT_THAT(read_text(page), AllOf(HasSubstr("resnet20"), HasSubstr("\"no_loss\":[]")));
  EXPECT_GT(point["price"]["performance"].get<double>(), 0);
  EXPECT_LE(point["price"]["cost"].get<double>(), 1);
  EXPECT_LE(point["fast_operands"]["inputs"].get<double>(), 1);

  const json one = document_of(tiny("simulate", joined(cache, {"--fast", "60%", "--planner", "sentinel"})));
  EXPECT_EQ(one["budgets"][0], point["budget_bytes"]);
  EXPECT_EQ(one["predicted_ms"], point["predicted_ms"]);
  EXPECT_EQ(one["locality"]["by_bytes"], point["locality"]["by_bytes"]);
  EXPECT_EQ(one["bytes_in"], point["bytes_in"]);
}

TEST_F(SweepTest, FindsTheBudgetWithoutLoss) {
  const json document = call({"resnet32:2", "--no-loss", "5%", "--planners", "sentinel"});
  ASSERT_EQ(document["models"].size(), 2U);
  for (const json& swept : document["models"]) {
    ASSERT_EQ(swept["no_loss"].size(), 1U);
    const json& found = swept["no_loss"][0];
    EXPECT_EQ(found["allowed_loss"], 0.05);
    EXPECT_LE(found["predicted_slowdown"].get<double>(), 1.05);
    EXPECT_LE(found["budget_bytes"], swept["fast_only_bytes"]);
  }
  EXPECT_THAT(result_.output, HasSubstr("no loss MiB"));
  const json usual = call({"--no-loss", "--planners", "sentinel"});
  EXPECT_EQ(usual["models"][0]["no_loss"][0]["allowed_loss"], 0.01) << "where nothing follows";
}

// Half as long again is allowed, so that something is found however fast this machine is.
TEST_F(SweepTest, OtherCommandsFindTheBudgetForALossToo) {
  const CommandResult planned =
      call_sluice(tiny("plan", {"--fast", "auto:50%", "--planner", "sentinel", "--json", file_}));
  ASSERT_EQ(planned.exit_code, 0) << planned.errors;
  EXPECT_LE(read_json(file_)["predicted_loss"].get<double>(), 0.5 + 1e-6);
  EXPECT_THAT(planned.errors, HasSubstr("note: --fast auto:50%: "));
}

// On a tier that no planner can use in place: the first budget is too small for any.
TEST_F(SweepTest, RunsPointsBesideTheBaseline) {
  slow_ = "pcie3";
  const CommandResult result = run_sluice(sweep({"--fast", "1%,70%", "--run", "--steps", "4"}));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const json document = read_json(file_);
  const json& points = document["models"][0]["points"];
  EXPECT_FALSE(points[0].contains("measured")) << "too small a budget";
  const json& measured = points[1]["measured"];
  EXPECT_TRUE(measured["same_bits"].get<bool>());
  EXPECT_GT(measured["slowdown"].get<double>(), 0);
  EXPECT_NEAR(points[1]["predicted_ms"].get<double>() / measured["step_ms"].get<double>() - 1,
              measured["prediction_error"].get<double>(), 1e-9);
}

// The second model's points take hundreds of rounds: they are cut off, the first one's stay.
TEST_F(SweepTest, CtrlCKeepsWhatIsFinished) {
  const CommandResult result =
      interrupt_sluice(sweep({"resnet20:4", "--fast", "70%", "--run", "--steps", "400"}), "resnet20, batch 2: ");
  EXPECT_EQ(result.exit_code, 130) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("interrupted"));
  const json document = read_json(file_);
  EXPECT_FALSE(document["complete"].get<bool>());
  EXPECT_TRUE(document["models"][0]["points"][0].contains("measured"));
}

}  // namespace
}  // namespace sluice::tests
