#include "sluice/memory/paging/use_history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice::memory {
namespace {

using Uses = std::vector<UseHistory::Object>;

void use_all(UseHistory& history, const Uses& uses) {
  for (const auto each : uses) history.used(each);
}

TEST(UseHistory, KnowsNothingOfWhatItHasNotSeen) {
  UseHistory history(4, 100);
  EXPECT_FALSE(history.next(0));
  use_all(history, {0, 1, 2});
  EXPECT_FALSE(history.next(0));
}

TEST(UseHistory, ForeseesTheSecondStepFromTheFirst) {
  const Uses step = {0, 1, 2, 3, 3, 2, 1, 0};
  UseHistory history(4, 100);
  use_all(history, step);
  history.used(0);
  const std::int64_t unforeseen = history.unforeseen();
  for (std::size_t at = 1; at < step.size(); ++at) {
    EXPECT_EQ(history.next(0), step[at]);
    history.used(step[at]);
  }
  EXPECT_EQ(history.unforeseen(), unforeseen);
  EXPECT_EQ(history.next(0), 0) << "and the step behind it";
}

TEST(UseHistory, TellsTwoWaysOnFromWhatCameBefore) {
  UseHistory history(5, 100);
  use_all(history, {0, 1, 2, 4, 1, 3, 2, 0});
  history.used(1);
  EXPECT_EQ(history.next(0), 2);
}

TEST(UseHistory, GoesOnWhereNeighboursChangedPlaces) {
  UseHistory history(8, 100);
  use_all(history, {0, 1, 2, 3, 4, 5, 6, 7});
  use_all(history, {0, 2, 1, 3});
  EXPECT_EQ(history.next(0), 4);
}

TEST(UseHistory, ForgetsWhatIsOldAndGoesOn) {
  std::mt19937 random(1);
  UseHistory history(8, 32);
  for (int round = 0; round < 1000; ++round) {
    Uses step = {0, 1, 2, 3, 4, 5, 6, 7};
    if (round % 7 == 0) std::shuffle(step.begin(), step.end(), random);
    use_all(history, step);
    EXPECT_LT(history.next(0).value_or(0), 8);
  }
  use_all(history, {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2});
  EXPECT_EQ(history.next(0), 3);
}

}  // namespace
}  // namespace sluice::memory
