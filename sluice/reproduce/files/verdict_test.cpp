#include "sluice/reproduce/files/verdict.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(VerdictTest, GoesByATenthOfWhatIsPublished) {
  const Published two{2, 2};
  EXPECT_EQ(verdict_of(2.21, two, Better::kHigher), Verdict::kAhead);
  EXPECT_EQ(verdict_of(2.19, two, Better::kHigher), Verdict::kMatches);
  EXPECT_EQ(verdict_of(1.81, two, Better::kHigher), Verdict::kMatches);
  EXPECT_EQ(verdict_of(1.79, two, Better::kHigher), Verdict::kBehind);
  EXPECT_EQ(verdict_of(2.21, two, Better::kLower), Verdict::kBehind);
  EXPECT_EQ(verdict_of(1.79, two, Better::kLower), Verdict::kAhead);
  EXPECT_EQ(verdict_of(1.81, two, Better::kNeither), Verdict::kAgrees);
  EXPECT_EQ(verdict_of(2.21, two, Better::kNeither), Verdict::kDiffers);
  EXPECT_EQ(verdict_of(1.79, two, Better::kNeither), Verdict::kDiffers);
}

TEST(VerdictTest, ARangeIsMetInsideAndNearItsEnds) {
  const Published range{1, 3};
  EXPECT_EQ(verdict_of(2, range, Better::kHigher), Verdict::kMatches);
  EXPECT_EQ(verdict_of(0.91, range, Better::kHigher), Verdict::kMatches);
  EXPECT_EQ(verdict_of(0.89, range, Better::kHigher), Verdict::kBehind);
  EXPECT_EQ(verdict_of(3.31, range, Better::kHigher), Verdict::kAhead);
  EXPECT_EQ(verdict_of(3.29, range, Better::kNeither), Verdict::kAgrees);
}

TEST(VerdictTest, NothingAndLessThanNothingHaveATenthToo) {
  EXPECT_EQ(verdict_of(0, {0, 0}, Better::kLower), Verdict::kMatches);
  EXPECT_EQ(verdict_of(0.01, {0, 0}, Better::kLower), Verdict::kBehind);
  EXPECT_EQ(verdict_of(-9.5, {-10, -10}, Better::kHigher), Verdict::kMatches);
  EXPECT_EQ(verdict_of(-8.9, {-10, -10}, Better::kHigher), Verdict::kAhead);
}

}  // namespace
}  // namespace sluice
