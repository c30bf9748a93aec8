#include "sluice/exec/backends/fp16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sluice/exec/backends/onednn/loops/vector_code.hpp"

namespace sluice {
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

// The loops' code against the one above, over every 4,096th fp32 and all around each fp16.
TEST(Float16Test, VectorsHaveTheSameBits) {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits < (1ULL << 32); bits += 4093)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const float value = to_float(Float16{static_cast<std::uint16_t>(bits)});
    values.insert(values.end(), {value, std::nextafter(value, 1e9F), std::nextafter(value, -1e9F)});
  }
  values.resize(values.size() / kLanes * kLanes);
  std::vector<Float16> rounded(values.size());
  std::vector<float> widened(values.size());
  for (const VectorSet set : {VectorSet::kAnyX86, widest_vectors()}) {
    vectorised(
        [&](auto) SLUICE_INLINE {
          for (std::size_t i = 0; i < values.size(); i += kLanes) {
            Vector value;
            load(values.data() + i, value);
            store(value, rounded.data() + i);
            load(rounded.data() + i, value);
            store(value, widened.data() + i);
          }
        },
        set);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(rounded[i].bits, to_fp16(values[i]).bits) << values[i];
      ASSERT_EQ(std::bit_cast<std::uint32_t>(widened[i]), std::bit_cast<std::uint32_t>(to_float(rounded[i])));
    }
  }
}

}  // namespace
}  // namespace sluice
