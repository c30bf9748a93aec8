#include "sluice/report/convergence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sluice/report/charts/svg_for_tests.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<SearchRound> falling_rounds(int count) {
  std::vector<SearchRound> rounds;
  for (int i = 0; i < count; ++i) rounds.push_back(round_of({1.0 / (i + 1), 2.0 / (i + 1), 6.0 / (i + 1)}));
  return rounds;
}

int points_in(const std::string& svg) {
  int count = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++count;
  return count;
}

TEST(SearchRounds, AreTheWorstTheAverageAndTheBestOfWhatHasRoom) {
  const SearchRound round = round_of({3, 1, 2, 6});
  EXPECT_EQ(round.feasible, 4);
  EXPECT_EQ(round.worst, 6);
  EXPECT_EQ(round.average, 3);
  EXPECT_EQ(round.best, 1);
  EXPECT_EQ(round_of({}).feasible, 0);
}

TEST(Convergence, PictureHasThreeCurvesWithNamesAndUnits) {
  const std::string svg = convergence_picture(falling_rounds(5), "home", "a < b");
  EXPECT_EQ(testing::xml_problem(svg), "");
  EXPECT_EQ(testing::label_problem(svg), "");
  for (const char* text :
       {">worst</text>", ">average</text>", ">best</text>", "a &lt; b", ", ms", ">round of the search<",
        "How the search of home converged", "<title>round 2: average 1500.000 ms, 3 with room</title>"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  EXPECT_EQ(points_in(svg), 15);
  EXPECT_THAT(svg, Not(HasSubstr("is drawn")));
}

TEST(Convergence, OfManyRoundsItDrawsSomeAndTheLast) {
  const std::string svg = convergence_picture(falling_rounds(500), "home", "");
  EXPECT_LE(points_in(svg), 3 * 61);
  EXPECT_THAT(svg, HasSubstr("<title>round 500: best 2.000 ms"));
  EXPECT_THAT(svg, HasSubstr("one round in 9 is drawn"));
  EXPECT_EQ(testing::label_problem(svg), "");
}

TEST(Convergence, RoundsWithoutRoomAreNotDrawnAndNullInJson) {
  std::vector<SearchRound> rounds = falling_rounds(3);
  rounds[0] = {};
  EXPECT_EQ(points_in(convergence_picture(rounds, "home", "")), 6);
  const nlohmann::json list = convergence_json(rounds);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_TRUE(list[0]["best_ms"].is_null());
  EXPECT_EQ(list[0]["feasible"], 0);
  EXPECT_DOUBLE_EQ(list[1]["worst_ms"], 3000);
  EXPECT_DOUBLE_EQ(list[2]["best_ms"], 1000.0 / 3);
  EXPECT_EQ(convergence_picture({{}, {}}, "home", ""), "");
  EXPECT_EQ(convergence_picture({}, "home", ""), "");
}

}  // namespace
}  // namespace sluice
