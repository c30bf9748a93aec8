#include "sluice/experiment/sweep_prices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::experiment {
namespace {

SweepPoint point(Bytes fast, Bytes slow, double slowdown) {
  return {.planner = "joint", .budget = fast, .planned_for = fast, .slowdown = slowdown, .slow_bytes = slow};
}

// 20 % fast at half of the price costs 0.2 + 0.8 / 2.
SweptModel net() {
  return {.model = "net",
          .whole = 100 * kMiB,
          .baseline_seconds = 0.1,
          .points = {point(20 * kMiB, 80 * kMiB, 1.5), point(50 * kMiB, 50 * kMiB, 1.1), point(100 * kMiB, 0, 1)}};
}

TEST(MemoryPrices, AreReadInAnyOrder) {
  const auto prices = parse_memory_prices("slow=7.85,fast=16.61");
  ASSERT_TRUE(prices.ok());
  EXPECT_DOUBLE_EQ(prices->fast, 16.61);
  EXPECT_DOUBLE_EQ(prices->slow, 7.85);
}

TEST(MemoryPrices, NonsenseIsRefused) {
  for (const std::string text : {"", "fast=1", "fast=0,slow=1", "fast=1,slow=0", "fast=1,slow=-1", "fast=1,slow=x",
                                 "fast=1,slow=2,more=3", "fast=inf,slow=1", "fast=,slow=1", "fast=1;slow=2"}) {
    const auto prices = parse_memory_prices(text);
    ASSERT_FALSE(prices.ok()) << text;
    EXPECT_EQ(prices.error().code, ErrorCode::kBadInput);
  }
}

TEST(MemoryPrices, PayForWhatIsUsed) {
  const SweptModel swept = net();
  const PricedPoint priced = price_of(swept, swept.points[0], {2, 1}).value();
  EXPECT_DOUBLE_EQ(priced.cost, 0.6);
  EXPECT_DOUBLE_EQ(priced.performance, 1 / 1.5);
  EXPECT_GT(priced.per_cost(), 1);
}

TEST(MemoryPrices, AMeasuredStepCountsInsteadOfThePrediction) {
  SweptModel swept = net();
  swept.points[0].measured = MeasuredPoint{.slowdown = 2};
  EXPECT_DOUBLE_EQ(price_of(swept, swept.points[0], {2, 1})->performance, 0.5);
}

TEST(MemoryPrices, WhatAPolicyTakesOfSlowMemoryIsUnknown) {
  SweptModel swept = net();
  swept.points[0].slow_bytes.reset();
  EXPECT_FALSE(price_of(swept, swept.points[0], {2, 1}));
  EXPECT_EQ(cheapest_within(swept, "joint", {2, 1}, 0.5), &swept.points[1]);
}

TEST(MemoryPrices, NothingIsDividedByZero) {
  SweptModel swept = net();
  swept.points[0].planned_for = 0;
  swept.points[0].slow_bytes = 0;
  swept.points[1].slowdown = 0;
  EXPECT_FALSE(price_of(swept, swept.points[0], {2, 1})) << "no memory";
  EXPECT_FALSE(price_of(swept, swept.points[1], {2, 1})) << "no time";
  EXPECT_FALSE(price_of(swept, swept.points[2], {1e308, 1})) << "a sum that no number holds";
  EXPECT_EQ(cheapest_within(swept, "joint", {2, 1}, 0.5), &swept.points[2]);
}

TEST(MemoryPrices, TheCheapestIsFastEnough) {
  const SweptModel swept = net();
  EXPECT_EQ(cheapest_within(swept, "joint", {2, 1}, 0.5), &swept.points[0]);
  EXPECT_EQ(cheapest_within(swept, "joint", {2, 1}, 0.2), &swept.points[1]);
  EXPECT_EQ(cheapest_within(swept, "joint", {2, 1}, 0.05), &swept.points[2]);
  EXPECT_EQ(cheapest_within(swept, "joint", {1, 2}, 0.5), &swept.points[2]) << "slow memory at twice the price";
  EXPECT_EQ(cheapest_within(swept, "sentinel", {2, 1}, 0.5), nullptr);
}

}  // namespace
}  // namespace sluice::experiment
