#include "sluice/report/comparison_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/report/comparison_json.hpp"
#include "sluice/testing/drawn_step.hpp"

namespace sluice::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

experiment::ComparisonRow row(const std::string& planner) {
  experiment::ComparisonRow row;
  row.planner = planner;
  plan::Plan plan;
  plan.planner = planner;
  plan.predicted_step_seconds = 0.11;
  plan.budgets = {kMiB, kMiB};
  plan.arena_bytes = {kMiB, 0};
  row.run = std::move(plan);
  row.rounds = {0.1, 0.1};
  row.step_seconds = spread_of(row.rounds);
  row.slowdown = spread_of({1.0, 1.0});
  row.loss_bits = {0x3f800000};
  row.parameter_hash = "0123456789abcdef";
  row.same_losses = row.same_parameters = true;
  return row;
}

class ComparisonTextTest : public ::testing::Test {
 protected:
  ComparisonTextTest() { machine_.tiers.resize(2); }
  std::string text(const experiment::ComparisonResult& result) const {
    return comparison_text({step_.graph, machine_, "20%"}, result);
  }
  nlohmann::json document(const experiment::ComparisonResult& result) const {
    return comparison_json({step_.graph, machine_, "20%"}, result);
  }

  testing::DrawnStep step_;
  memory::Machine machine_;
};

TEST_F(ComparisonTextTest, BitsThatDifferAreShouted) {
  experiment::ComparisonResult result{.rows = {row("fast-only"), row("slow-only"), row("on-demand")}};
  EXPECT_THAT(text(result), Not(HasSubstr("DIFFER")));
  result.rows[1].same_parameters = false;
  result.rows[2].same_losses = false;
  const std::string shown = text(result);
  EXPECT_THAT(shown, HasSubstr("01234567  same\n"));
  EXPECT_THAT(shown, HasSubstr("01234567  PARAMETERS DIFFER\n"));
  EXPECT_THAT(shown, HasSubstr("01234567  LOSS DIFFERS\n"));
  const nlohmann::json rows = document(result)["results"];
  EXPECT_EQ(rows[0]["same_parameters"], true);
  EXPECT_EQ(rows[1]["same_parameters"], false);
  EXPECT_EQ(rows[1]["same_losses"], true);
  EXPECT_EQ(rows[2]["same_losses"], false);
}

TEST_F(ComparisonTextTest, OtherKernelsMayRoundDifferently) {
  experiment::ComparisonResult result{.rows = {row("fast-only"), row("kernel-choice"), row("oim")}};
  std::get<plan::Plan>(result.rows[1].run).ops = {{1, {}}, {0, {}}};
  result.rows[1].other_choices = true;
  EXPECT_THAT(text(result), HasSubstr("01234567  same\n")) << "they may also round alike";
  result.rows[1].same_losses = false;
  const std::string shown = text(result);
  EXPECT_THAT(shown, HasSubstr("01234567  own kernels\n"));
  EXPECT_THAT(shown,
              HasSubstr("note: kernel-choice: 1 op by other kernels than the default: bits are those of fast-only "
                        "with --choices-of this plan\n"));
  EXPECT_TRUE(result.same_bits());
  EXPECT_THAT(shown, Not(HasSubstr("oim runs")));
  result.rows[2].other_choices = true;
  EXPECT_THAT(text(result), HasSubstr("note: oim runs all ops by the default kernels"));
  const nlohmann::json rows = document(result)["results"];
  EXPECT_EQ(rows[1]["other_choices"], true);
  EXPECT_EQ(rows[1]["ops_by_other_kernels"], 1);
}

TEST_F(ComparisonTextTest, APolicysPassesAndBytesAreShown) {
  experiment::ComparisonResult result{.rows = {row("fast-only"), row("oim"), row("first")}};
  EXPECT_THAT(text(result), Not(HasSubstr("policies, all steps")));
  result.rows[1].policy =
      experiment::PolicyActivity{40, 50, 3 * kMiB, 2 * kMiB, {{"passes", 5}, {"pages promoted", 7}}};
  result.rows[2].policy = experiment::PolicyActivity{0, 10, 0, 0, {}};
  const std::string shown = text(result);
  EXPECT_THAT(shown, HasSubstr("oim        50       5    0.10     3.0      2.0  pages promoted 7\n"));
  EXPECT_THAT(shown, HasSubstr("first      10       -       -     0.0      0.0\n"));
  const nlohmann::json rows = document(result)["results"];
  EXPECT_TRUE(rows[0]["policy"].is_null());
  EXPECT_EQ(rows[1]["policy"]["passes"], 5);
  EXPECT_EQ(rows[1]["policy"]["figures"]["pages promoted"], 7);
  EXPECT_TRUE(rows[2]["policy"]["passes"].is_null());
}

TEST_F(ComparisonTextTest, OpTimesMeasuredAgainAreSaid) {
  experiment::ComparisonResult result{.rows = {row("fast-only")}};
  result.profile = {.measured_seconds = 0.1, .error = 0.08, .measured_again = true, .error_after = -0.01};
  EXPECT_THAT(text(result), HasSubstr("fast-only's predicted step was +8.0 % off) and were measured again before "
                                      "planning (-1.0 %)"));
  EXPECT_EQ(document(result)["profile"]["measured_again"], true);
}

}  // namespace
}  // namespace sluice::report
