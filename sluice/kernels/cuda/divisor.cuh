// Division by a number that is the same for all threads: a multiplication instead of the dozens of instructions that
// an integer division takes on the device.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sluice::kernels::cuda {

class Divisor {
 public:
  // `divisor` is at least 1.
  explicit Divisor(std::int64_t divisor) : divisor_(divisor) {
    const auto small = static_cast<std::uint64_t>(std::min(divisor, kSmall));
    shift_ = std::bit_width(small - 1);
    multiplier_ = static_cast<std::uint32_t>((((std::uint64_t{1} << shift_) - small) << 32) / small + 1);
  }

  // `number` is not negative.
  __device__ std::int64_t quotient(std::int64_t number) const {
    if (number >= kSmall) return number / divisor_;
    const auto low = static_cast<std::uint32_t>(number);
    const auto product = static_cast<std::uint32_t>((std::uint64_t{low} * multiplier_) >> 32);
    return (product + low) >> shift_;
  }
  __device__ std::int64_t remainder(std::int64_t number) const { return number - quotient(number) * divisor_; }

 private:
  static constexpr std::int64_t kSmall = std::int64_t{1} << 31;  // below it, the sum in quotient() has 32 bits

  std::int64_t divisor_;
  int shift_ = 0;
  std::uint32_t multiplier_ = 0;
};

}  // namespace sluice::kernels::cuda
