#include "sluice/planners/redl/period_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <stdexcept>

namespace sluice::planners {
namespace {

// The periods run, with step times that a function of the period gives.
std::vector<int> run(PeriodRounds& rounds, const std::function<std::optional<Seconds>(int)>& step) {
  std::vector<int> periods;
  while (!rounds.done()) {
    periods.push_back(rounds.period());
    rounds.observe(step(rounds.period()));
  }
  return periods;
}

TEST(PeriodRounds, EachRoundRunsTheBestOneAndOneOnEitherSide) {
  PeriodRounds rounds(10, 20, 3, 0);
  EXPECT_THAT(run(rounds, [](int) { return 1.0; }), ::testing::ElementsAre(10, 11, 9, 10, 12, 8, 10, 13, 7));
  EXPECT_EQ(rounds.best(), 10);
  EXPECT_EQ(rounds.rounds(), 3);
}

TEST(PeriodRounds, GoesOnWhileThereIsGainAndKeepsTheBest) {
  PeriodRounds rounds(10, 20, 2, 0);
  const auto periods = run(rounds, [](int period) { return 1.0 + 0.01 * std::abs(period - 6); });
  EXPECT_EQ(rounds.best(), 6);
  EXPECT_EQ(rounds.rounds(), 6) << "four with gain, two without";
  EXPECT_THAT(periods, ::testing::Contains(4));
}

// A machine that gets slower with time must not make the first period the best.
TEST(PeriodRounds, OnlyStepsOfOneRoundAreCompared) {
  PeriodRounds rounds(10, 20, 2, 0);
  int round = 0;
  run(rounds, [&](int period) {
    round += period == rounds.best() ? 1 : 0;
    return round + (period == 12 ? 0.5 : 1.0);
  });
  EXPECT_EQ(rounds.best(), 12);
}

TEST(PeriodRounds, AGainOfLessThanATenthOfAPercentIsNone) {
  PeriodRounds rounds(5, 9, 2, 0);
  run(rounds, [](int period) { return period == 6 ? 0.9995 : 1.0; });
  EXPECT_EQ(rounds.best(), 5);
}

TEST(PeriodRounds, PeriodsWithoutAPlanArePassedOver) {
  PeriodRounds rounds(3, 9, 3, 0);
  run(rounds, [](int period) -> std::optional<Seconds> {
    if (period > 3) return std::nullopt;
    return period == 2 ? 1.0 : 2.0;
  });
  EXPECT_EQ(rounds.best(), 2);
}

TEST(PeriodRounds, EndsAtOnceWhenNothingIsLeftToHide) {
  PeriodRounds rounds(10, 20, 5, 1.0);
  EXPECT_THAT(run(rounds, [](int period) { return period == 11 ? 0.99 : 1.5; }), ::testing::ElementsAre(10, 11));
  EXPECT_EQ(rounds.best(), 11);
}

TEST(PeriodRounds, StaysWithinTheLayers) {
  PeriodRounds rounds(1, 3, 10, 0);
  EXPECT_THAT(run(rounds, [](int) { return 1.0; }), ::testing::ElementsAre(1, 2, 1, 3));
  PeriodRounds only(7, 1, 10, 0);
  EXPECT_THAT(run(only, [](int) { return 1.0; }), ::testing::ElementsAre(1));
  EXPECT_THROW(PeriodRounds(1, 0, 1, 0), std::logic_error);
}

}  // namespace
}  // namespace sluice::planners
