// The elements of a tensor as kernels see them: fp32 values, whether they are stored as fp32 or as bf16.
//
// Which of the two is the same for all threads, so asking costs nothing beside the access.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sluice::kernels::cuda {

class Cells {
 public:
  Cells() = default;
  Cells(void* data, bool bf16) : data_(data), bf16_(bf16) {}

  __device__ float operator[](std::int64_t i) const {
    if (!bf16_) return static_cast<const float*>(data_)[i];
    return __uint_as_float(static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(data_)[i]) << 16);
  }

  // bf16: to the nearest, ties to even (kernels/bf16.hpp).
  __device__ void set(std::int64_t i, float value) const {
    if (!bf16_) {
      static_cast<float*>(data_)[i] = value;
      return;
    }
    const std::uint32_t bits = __float_as_uint(value);
    const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
    static_cast<std::uint16_t*>(data_)[i] =
        static_cast<std::uint16_t>(nan ? (bits >> 16) | 0x40U : (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
  }

 private:
  void* data_ = nullptr;
  bool bf16_ = false;
};

}  // namespace sluice::kernels::cuda
