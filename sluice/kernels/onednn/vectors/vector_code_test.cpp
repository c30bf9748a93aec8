#include "sluice/kernels/onednn/vectors/vector_code.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sluice::kernels {
namespace {

// Over every 4,096th fp32 and all around each fp16.
TEST(VectorCode, RoundsAndWidensFp16AsOneByOne) {
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
}  // namespace sluice::kernels
