#include "sluice/train/rank_agreement.hpp"

#include <gmock/gmock.h>

#include "sluice/testing/thread_ranks.hpp"

namespace sluice::train {
namespace {

TEST(RankAgreement, RanksGoOnFromTheSameStep) {
  testing::ThreadRanks(2).run([](kernels::Ranks& ranks) {
    EXPECT_TRUE(check_same_step(ranks, 7).ok());
    const Status other = check_same_step(ranks, 7 + ranks.rank());
    ASSERT_EQ(other.ok(), ranks.rank() == 0);
    if (other.ok()) return;
    EXPECT_EQ(other.error().code, ErrorCode::kMismatch);
    EXPECT_THAT(other.error().message, ::testing::HasSubstr("rank 1 goes on from step 8 and rank 0 from step 7"));
  });
}

TEST(RankAgreement, OneRankSpeaksForAll) {
  testing::ThreadRanks(3).run([](kernels::Ranks& ranks) {
    EXPECT_FALSE(any_rank(&ranks, false).value());
    EXPECT_TRUE(any_rank(&ranks, ranks.rank() == 1).value());
  });
  EXPECT_TRUE(any_rank(nullptr, true).value());
  EXPECT_FALSE(any_rank(nullptr, false).value());
}

}  // namespace
}  // namespace sluice::train
