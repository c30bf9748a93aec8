// What an Adam step of mixed precision works on: parameters in fp32, their moments, gradients in bf16, and the parameters'
// copy in bf16. One arena, as in a run; the contents are made from a seed.
#pragma once

#include <cstdint>

#include "sluice/kernels/bf16.hpp"
#include "sluice/memory/arena.hpp"

namespace sluice::benchmarks {

class StepBuffers {
 public:
  // 16 bytes an element, and 4 more for `wide`.
  static Result<StepBuffers> make(std::int64_t elements, bool with_wide, int threads);

  std::int64_t elements = 0;
  float* w = nullptr;
  float* moment1 = nullptr;
  float* moment2 = nullptr;
  kernels::BFloat16* gradient = nullptr;
  kernels::BFloat16* half = nullptr;
  float* wide = nullptr;  // gradients in fp32, for passes that need them so

 private:
  memory::Arena arena_;
};

}  // namespace sluice::benchmarks
