#include "sluice/kernels/fp16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice::kernels {
namespace {

TEST(Float16Test, WidensAndRoundsBackEveryValue) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const Float16 value{static_cast<std::uint16_t>(bits)};
    if (std::isnan(to_float(value))) {
      EXPECT_TRUE(std::isnan(to_float(to_fp16(to_float(value)))));
    } else {
      EXPECT_EQ(to_fp16(to_float(value)).bits, value.bits);
    }
  }
}

TEST(Float16Test, HasTheValuesOfItsFormat) {
  EXPECT_EQ(to_float(Float16{0x3c00}), 1.0F);
  EXPECT_EQ(to_float(Float16{0xc000}), -2.0F);
  EXPECT_EQ(to_float(Float16{0x7bff}), 65504.0F);
  EXPECT_EQ(to_float(Float16{0x0001}), 0x1p-24F);
  EXPECT_EQ(to_float(Float16{0x0400}), 0x1p-14F);
  EXPECT_EQ(to_float(Float16{0x7c00}), std::numeric_limits<float>::infinity());
}

TEST(Float16Test, RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(to_float(to_fp16(1.0F + 0x1p-11F)), 1.0F);                // half way, down to even
  EXPECT_EQ(to_float(to_fp16(1.0F + 0x3p-11F)), 1.0F + 0x1p-9F);      // half way, up to even
  EXPECT_EQ(to_float(to_fp16(1.0F + 0x1.01p-11F)), 1.0F + 0x1p-10F);  // above half
  EXPECT_EQ(to_float(to_fp16(0x1p-25F)), 0.0F);                       // half of the least, down to even
  EXPECT_EQ(to_float(to_fp16(0x1.01p-25F)), 0x1p-24F);
  EXPECT_EQ(to_float(to_fp16(0x3p-25F)), 0x1p-23F);
  EXPECT_EQ(to_float(to_fp16(65519.0F)), 65504.0F);
  EXPECT_EQ(to_float(to_fp16(65520.0F)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(to_float(to_fp16(-1e9F)), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(to_float(to_fp16(std::bit_cast<float>(0x7f800001U)))));
}

}  // namespace
}  // namespace sluice::kernels
