#include "sluice/kernels/dropout.hpp"

#include <gtest/gtest.h>

namespace sluice::kernels {
namespace {

constexpr std::uint64_t kElements = 100'000;

TEST(DropoutDraws, DropTheShareAskedFor) {
  for (const float rate : {0.0F, 0.1F, 0.5F, 0.9F, 1.0F}) {
    const DropoutDraws draws(1, 2, 3, rate);
    std::uint64_t kept = 0;
    for (std::uint64_t i = 0; i < kElements; ++i) kept += draws.keeps(i) ? 1U : 0U;
    EXPECT_NEAR(static_cast<double>(kept) / kElements, 1.0 - static_cast<double>(rate), 0.01);
    if (rate < 1) {
      EXPECT_NEAR(static_cast<double>(kept) / kElements * static_cast<double>(draws.scale()), 1, 0.05);
    }
  }
}

TEST(DropoutDraws, DependOnSeedStreamStepAndElementOnly) {
  const DropoutDraws draws(1, 2, 3, 0.5F);
  const DropoutDraws again(1, 2, 3, 0.5F);
  const DropoutDraws others[] = {{2, 2, 3, 0.5F}, {1, 3, 3, 0.5F}, {1, 2, 4, 0.5F}};
  std::uint64_t equal[3] = {};
  for (std::uint64_t i = 0; i < kElements; ++i) {
    ASSERT_EQ(draws.keeps(i), again.keeps(i));
    for (std::size_t k = 0; k < 3; ++k) equal[k] += draws.keeps(i) == others[k].keeps(i) ? 1U : 0U;
  }
  for (const std::uint64_t count : equal) EXPECT_NEAR(static_cast<double>(count) / kElements, 0.5, 0.01);
}

TEST(DropoutDraws, NeighboursAreIndependent) {
  const DropoutDraws draws(1, 2, 3, 0.5F);
  for (std::uint64_t distance = 1; distance <= 8; ++distance) {
    std::uint64_t equal = 0;
    for (std::uint64_t i = 0; i < kElements; ++i) equal += draws.keeps(i) == draws.keeps(i + distance) ? 1U : 0U;
    EXPECT_NEAR(static_cast<double>(equal) / kElements, 0.5, 0.01) << "elements " << distance << " apart";
  }
}

}  // namespace
}  // namespace sluice::kernels
