#include "sluice/report/convergence.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sluice::report {
namespace {

TEST(SearchRounds, AreTheWorstTheAverageAndTheBestOfWhatHasRoom) {
  const planners::SearchRound round = planners::round_of({3, 1, 2, 6});
  EXPECT_EQ(round.feasible, 4);
  EXPECT_EQ(round.worst, 6);
  EXPECT_EQ(round.average, 3);
  EXPECT_EQ(round.best, 1);
  EXPECT_EQ(planners::round_of({}).feasible, 0);
}

TEST(Convergence, RoundsWithoutRoomAreNull) {
  const nlohmann::json list = convergence_json({{}, planners::round_of({0.5, 1.0, 3.0})});
  ASSERT_EQ(list.size(), 2U);
  EXPECT_TRUE(list[0]["best_ms"].is_null());
  EXPECT_EQ(list[0]["feasible"], 0);
  EXPECT_DOUBLE_EQ(list[1]["worst_ms"], 3000);
  EXPECT_DOUBLE_EQ(list[1]["average_ms"], 1500);
  EXPECT_DOUBLE_EQ(list[1]["best_ms"], 500);
}

}  // namespace
}  // namespace sluice::report
