#include "sluice/kernels/bf16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice::kernels {
namespace {

TEST(BFloat16, WidensAndRoundsBackEveryValue) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const BFloat16 value{static_cast<std::uint16_t>(bits)};
    if (std::isnan(to_float(value))) {
      EXPECT_TRUE(std::isnan(to_float(to_bf16(to_float(value)))));
    } else {
      EXPECT_EQ(to_bf16(to_float(value)).bits, value.bits);
    }
  }
}

TEST(BFloat16, RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(to_float(to_bf16(1.0F + 0x1p-8F)), 1.0F);               // half way, down to even
  EXPECT_EQ(to_float(to_bf16(1.0F + 0x3p-8F)), 1.0F + 0x1p-6F);     // half way, up to even
  EXPECT_EQ(to_float(to_bf16(1.0F + 0x1.01p-8F)), 1.0F + 0x1p-7F);  // above half
  EXPECT_EQ(to_float(to_bf16(-1.0F - 0x1.01p-8F)), -1.0F - 0x1p-7F);
  EXPECT_EQ(to_float(to_bf16(std::numeric_limits<float>::max())), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::bit_cast<float>(0x7f800001U)))));
}

}  // namespace
}  // namespace sluice::kernels
