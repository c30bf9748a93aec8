#include "benchmarks/papers/sweep_claims.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::HasSubstr;

SweepPoint point(Bytes budget, double slowdown) {
  return {.planner = "sentinel", .budget = budget, .step_seconds = 0.1 * slowdown, .slowdown = slowdown};
}

// 10 % is too small; 20, 30, 40 and 60 %.
SweptModel net() {
  return {.model = "net",
          .batch = 4,
          .whole = 100 * kMiB,
          .baseline_seconds = 0.1,
          .points = {{.planner = "sentinel", .budget = 10 * kMiB, .failure = "cannot"},
                     point(20 * kMiB, 1.25),
                     point(30 * kMiB, 1.1),
                     point(40 * kMiB, 1.0),
                     point(60 * kMiB, 1.02)}};
}

SweptModel measured_net() {
  SweptModel swept = net();
  swept.model = "other";
  swept.points[4].measured = MeasuredPoint{1.05, 1.01, 1.2, 0.21, 0.2, -0.03, true};
  return swept;
}

SweptModel without_loss(const std::string& model, Bytes whole, Bytes budget) {
  SweptModel swept{.model = model, .batch = 8, .whole = whole, .baseline_seconds = 0.1};
  swept.no_loss.push_back({point(budget, 1.009), 0.01, whole / 100, 9});
  return swept;
}

TEST(SweepClaimsTest, TakesTheWorstModelAndWhatWasMeasured) {
  const std::vector<SweptModel> models{net(), measured_net()};
  const std::vector<PublishedClaim> claims = compare_claims(models);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[0].here, "at most 5.0 % (other)") << "measured at 60 %";
  EXPECT_EQ(claims[1].here, "at most 20.0 % (net)") << "1 - 1.0 / 1.25";
  EXPECT_THAT(describe_claims(models), HasSubstr("at most 17 % (Sentinel, section VII-B"));
  EXPECT_EQ(claims_json(models).size(), 2U);
}

TEST(SweepClaimsTest, OfNothingSaysNothing) {
  SweptModel other = net();
  for (SweepPoint& each : other.points) each.planner = "on-demand";
  EXPECT_EQ(compare_claims(std::vector{other}).size(), 0U);
  EXPECT_EQ(compare_claims({}).size(), 0U);
  EXPECT_EQ(compare_claims(std::vector{without_loss("one", 10, 5)}).size(), 0U) << "one model grows nowhere";
}

TEST(SweepClaimsTest, GrowthIsFromTheSmallestModelToTheLargest) {
  const std::vector<SweptModel> models{without_loss("big", 60 * kMiB, 15 * kMiB),
                                       without_loss("small", 10 * kMiB, 5 * kMiB)};
  const std::vector<PublishedClaim> claims = compare_claims(models);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_THAT(claims[0].here, HasSubstr("from small to big peak memory grows 6.0x"));
  EXPECT_THAT(claims[0].here, HasSubstr("and the budget 3.0x"));
}

}  // namespace
}  // namespace sluice
