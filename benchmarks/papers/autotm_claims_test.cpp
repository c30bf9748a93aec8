#include "benchmarks/papers/autotm_claims.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace sluice::autotm {
namespace {

SweepPoint point(std::string planner, double slowdown) {
  return {.planner = std::move(planner), .slowdown = slowdown, .fast_operands = OperandShares{}};
}

// Two planners at three ratios.
FiguredModel figured(std::string name, double only_pmm) {
  FiguredModel model{.ratios = {{8, 1}, {4, 1}, {1, 1}}, .only_pmm = only_pmm};
  model.swept.model = std::move(name);
  model.swept.points = {point("first-touch", 4), point("autotm-sync", 2),   point("first-touch", 4),
                        point("autotm-sync", 2), point("first-touch", 1.0), point("autotm-sync", 0.5)};
  return model;
}

std::optional<bool> agrees(const std::vector<FigureClaim>& claims, std::string_view begin) {
  for (const FigureClaim& claim : claims) {
    if (claim.published.starts_with(begin)) return claim.agrees;
  }
  return std::nullopt;
}

TEST(AutotmRatio, IsPmmToDram) {
  const auto ratio = parse_ratio("8:1");
  ASSERT_TRUE(ratio.ok());
  EXPECT_NEAR(ratio->share(), 1.0 / 9, 1e-12);
  EXPECT_EQ(ratio->text(), "8:1");
  for (const char* text : {"8", "8:0", ":1", "-1:2", "8:1x"}) EXPECT_FALSE(parse_ratio(text).ok()) << text;
}

TEST(AutotmClaims, PointsAreFoundByRatioAndPlanner) {
  FiguredModel model = figured("vgg19", 5);
  model.swept.points[2].failure = "too small";
  EXPECT_EQ(model.at("first-touch", {4, 1}), nullptr);
  EXPECT_EQ(model.at("joint", {8, 1}), nullptr);
  EXPECT_EQ(model.at("autotm-sync", {2, 1}), nullptr);
  ASSERT_NE(model.at("autotm-sync", {1, 1}), nullptr);
  EXPECT_EQ(model.at("autotm-sync", {1, 1})->slowdown, 0.5);
}

TEST(AutotmClaims, LossIsOfTheGeometricMean) {
  const std::vector<FiguredModel> models{figured("a", 5), figured("b", 5)};
  const std::vector<Ratio> ratios{{4, 1}, {1, 1}};
  EXPECT_NEAR(*performance_lost(models, "first-touch", ratios), 0.5, 1e-12);  // of 4 and 1
  EXPECT_NEAR(*performance_lost(models, "autotm-sync", ratios), 0, 1e-12);    // of 2 and a half
  EXPECT_FALSE(performance_lost(models, "joint", ratios));
}

TEST(AutotmClaims, SayWhetherTheTrendAgrees) {
  const std::vector<FiguredModel> within{figured("a", 5)}, beyond{figured("a", 9)};
  const std::string_view only_pmm = "With PMM as a direct substitute", loss = "50 % to 80 %";
  EXPECT_EQ(agrees(figure_claims(within), only_pmm), true);
  EXPECT_EQ(agrees(figure_claims(beyond), only_pmm), false);
  EXPECT_EQ(agrees(figure_claims(within), loss), true);
  FiguredModel reversed = figured("a", 5);
  for (SweepPoint& each : reversed.swept.points) {
    each.planner = each.planner == "first-touch" ? "autotm-sync" : "first-touch";
  }
  EXPECT_EQ(agrees(figure_claims({&reversed, 1}), loss), false);
}

TEST(AutotmClaims, BytesMovedRiseAndFall) {
  FiguredModel model{.ratios = {{64, 1}, {8, 1}, {1, 1}}, .only_pmm = 5};
  for (const Bytes moved : {1, 9, 3}) {
    model.swept.points.push_back(point("autotm-sync", 2));
    model.swept.points.back().bytes_out = moved * kMiB;
  }
  const std::string_view curve = "Nothing moves with DRAM near zero", direction = "More is moved from DRAM";
  EXPECT_EQ(agrees(figure_claims({&model, 1}), curve), true);
  EXPECT_EQ(agrees(figure_claims({&model, 1}), direction), true);
  model.swept.points.back().bytes_in = 20 * kMiB;
  EXPECT_EQ(agrees(figure_claims({&model, 1}), curve), false);
  EXPECT_EQ(agrees(figure_claims({&model, 1}), direction), false);
}

}  // namespace
}  // namespace sluice::autotm
