// What the shapes of kernels share, on a GPU and where one is emulated.
#pragma once

#include <cstdint>

namespace sluice::kernels::cuda {

inline constexpr int kThreads = 256;  // of every block
inline constexpr int kWarp = 32;

// Several sums at once.
template <int N>
struct Sums {
  float of[N] = {};
};

}  // namespace sluice::kernels::cuda
