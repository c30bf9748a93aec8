#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/experiment/sweep_result.hpp"
#include "sluice/report/sweep/sweep_json.hpp"
#include "sluice/report/sweep/sweep_text.hpp"

namespace sluice::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

experiment::SweepPoint swept_point(Bytes budget, double slowdown) {
  return {.planner = "sentinel",
          .budget = budget,
          .planned_for = budget,
          .step_seconds = 0.1 * slowdown,
          .slowdown = slowdown,
          .stall_seconds = 0.1 * (slowdown - 1),
          .bytes_in = kMiB,
          .bytes_out = 2 * kMiB,
          .locality = {100, 90, 10, 8}};
}

experiment::SweepPoint too_small(Bytes budget) {
  return {.planner = "sentinel", .budget = budget, .failure = "cannot", .smallest_feasible = 15 * kMiB};
}

// 10 % is too small; 20, 30, 40 and 60 %.
experiment::SweptModel swept_net() {
  return {.model = "net",
          .batch = 4,
          .whole = 100 * kMiB,
          .baseline_seconds = 0.1,
          .points = {too_small(10 * kMiB), swept_point(20 * kMiB, 1.25), swept_point(30 * kMiB, 1.1),
                     swept_point(40 * kMiB, 1.0), swept_point(60 * kMiB, 1.02)}};
}

experiment::SweptModel measured_net() {
  experiment::SweptModel swept = swept_net();
  swept.model = "other";
  swept.points[4].measured = experiment::MeasuredPoint{1.05, 1.01, 1.2, 0.21, 0.2, -0.03, true};
  return swept;
}

experiment::SweptModel without_loss(const std::string& model, Bytes whole, Bytes budget) {
  experiment::SweptModel swept{.model = model, .batch = 8, .whole = whole, .baseline_seconds = 0.1};
  swept.no_loss.push_back({swept_point(budget, 1.009), 0.01, whole / 100, 9});
  return swept;
}

// At 30 % with the plan for 20 %; nothing is faster than 1.08x there.
experiment::SweptModel bounded_net() {
  experiment::SweptModel swept = swept_net();
  swept.points[2].planned_for = 20 * kMiB;
  swept.points[2].bound_seconds = 0.108;
  return swept;
}

TEST(SweepTextTest, ShowsPredictionsAndWhyPointsAreMissing) {
  const std::string text = describe_sweep(swept_net());
  EXPECT_THAT(text, HasSubstr("net, batch 4: 100.0 MiB in all, fast-only's step 100.0 ms (predicted)"));
  EXPECT_THAT(text,
              HasSubstr("20.0%  20.0      1.250x           125.0      25.0     1.0      2.0                   90.0%"));
  EXPECT_THAT(text, HasSubstr("sentinel  10.0%  10.0  infeasible"));
  EXPECT_THAT(text, HasSubstr("sentinel: the smallest budget it can use is 15.0 MiB (15.0 %)\n"));
  EXPECT_THAT(text, Not(HasSubstr("measured")));
}

TEST(SweepTextTest, ShowsBoundsAndKneesAndPlansForLess) {
  const std::string text = describe_sweep(bounded_net());
  EXPECT_THAT(text, HasSubstr("30.0%  30.0      1.100x  1.080x    110.0"));
  EXPECT_THAT(text, HasSubstr("sentinel: at 30.0% the plan for 20.0 MiB is the fastest\n"));
  EXPECT_THAT(text, HasSubstr("sentinel: the knee of its curve is at 40.0%, 1.000x\n"));
}

TEST(SweepTextTest, ShowsMeasurementsWhereThereAreAny) {
  const std::string text = describe_sweep(measured_net());
  EXPECT_THAT(text, HasSubstr("measured"));
  EXPECT_THAT(text, HasSubstr("1.050x  1.010x  1.200x  -3.0%  same"));
}

TEST(SweepTextTest, ShowsWhatMemoryCostsAndBrings) {
  experiment::SweptModel swept = swept_net();
  swept.prices = experiment::MemoryPrices{2, 1};
  swept.allowed_loss = 0.2;
  swept.points[2].slow_bytes = 70 * kMiB;
  swept.points[3].slow_bytes = 0;
  swept.points[2].fast_operands = plan::OperandShares{0.5, 0.75};
  const std::string text = describe_sweep(swept);
  EXPECT_THAT(text, HasSubstr("50.0%    75.0%  90.0%  65.0%        90.9%       1.40"));
  EXPECT_THAT(text,
              HasSubstr("the cheapest memory that is at most 20.0% slower: 40.0% fast, for 40.0% of the price\n"));
  const nlohmann::json point = sweep_json({&swept, 1})[0]["points"][2];
  EXPECT_DOUBLE_EQ(point["price"]["cost"], 0.65);
  EXPECT_FALSE(point["price"]["cheapest"]);
  EXPECT_DOUBLE_EQ(point["fast_operands"]["outputs"], 0.75);
}

TEST(SweepTextTest, OtherFailuresAreSaidOnce) {
  experiment::SweptModel swept = swept_net();
  for (const Bytes budget : {kMiB, 2 * kMiB}) {
    swept.points.push_back({.planner = "slow-only", .budget = budget, .failure = "cannot address the slow tier"});
  }
  const std::string text = describe_sweep(swept);
  const std::size_t first = text.find("slow-only: cannot address the slow tier\n");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("cannot address", first + 20), std::string::npos);
}

TEST(SweepTextTest, BudgetsWithoutLossStandBesideEverything) {
  std::vector<experiment::SweptModel> models{without_loss("small", 10 * kMiB, 5 * kMiB),
                                             without_loss("big", 60 * kMiB, 15 * kMiB)};
  models[0].no_loss[0].point.failure = "loses 5.0 %";
  const std::string text = describe_no_loss(models);
  EXPECT_THAT(text, HasSubstr("25.0%     1.009x"));
  EXPECT_THAT(text, HasSubstr("small: loses 5.0 %\n"));
}

TEST(SweepJsonTest, HasEveryNumber) {
  experiment::SweptModel swept = bounded_net();
  swept.points[4].measured = measured_net().points[4].measured;
  const std::vector<experiment::SweptModel> models{swept, without_loss("big", 60 * kMiB, 15 * kMiB)};
  const nlohmann::json list = sweep_json(models);
  ASSERT_EQ(list.size(), 2U);
  const nlohmann::json& points = list[0]["points"];
  ASSERT_EQ(points.size(), 5U);
  EXPECT_EQ(points[0]["infeasible"], "cannot");
  EXPECT_EQ(points[0]["smallest_feasible_bytes"], 15 * kMiB);
  EXPECT_FALSE(points[0].contains("predicted_ms"));
  EXPECT_EQ(points[1]["predicted_slowdown"], 1.25);
  EXPECT_EQ(points[1]["share"], 0.2);
  EXPECT_EQ(points[1]["locality"]["by_objects"], 0.8);
  EXPECT_FALSE(points[1].contains("measured"));
  EXPECT_FALSE(points[1].contains("bound_slowdown"));
  EXPECT_NEAR(points[2]["bound_slowdown"].get<double>(), 1.08, 1e-9);
  EXPECT_EQ(points[2]["planned_for_bytes"], 20 * kMiB);
  EXPECT_FALSE(points[2]["knee"].get<bool>());
  EXPECT_TRUE(points[3]["knee"].get<bool>());
  EXPECT_EQ(points[4]["measured"]["slowdown"], 1.05);
  EXPECT_TRUE(points[4]["measured"]["same_bits"].get<bool>());
  EXPECT_EQ(list[1]["no_loss"][0]["allowed_loss"], 0.01);
  EXPECT_EQ(list[1]["no_loss"][0]["budget_bytes"], 15 * kMiB);
}

}  // namespace
}  // namespace sluice::report
