#include "benchmarks/host_step/three_passes.hpp"

#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::benchmarks {
namespace {

SLUICE_VECTOR_CLONES void unscale_block(const kernels::BFloat16* gradient, float scale, std::int64_t count,
                                        float* wide) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) wide[i] = scale * load(gradient, i);
}

SLUICE_VECTOR_CLONES void convert_block(const float* w, std::int64_t count, kernels::BFloat16* half) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) kernels::store(half, i, w[i]);
}

SLUICE_VECTOR_CLONES void touch_block(float* w, float* moment1, float* moment2, const kernels::BFloat16* gradient,
                                      std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float added = kernels::load(gradient, i);
    w[i] += added;
    moment1[i] += added;
    moment2[i] += added;
  }
}

}  // namespace

void step_in_three_passes(const kernels::AdamStep& step, const StepBuffers& b) {
  kernels::for_blocks(b.elements, [&](std::int64_t begin, std::int64_t end) {
    unscale_block(b.gradient + begin, step.scale, end - begin, b.wide + begin);
  });
  kernels::AdamStep unscaled = step;
  unscaled.scale = 1;
  const kernels::UpdateOperands<float> operands{b.w, b.wide, b.moment1, b.moment2, b.w, b.moment1, b.moment2, nullptr};
  kernels::for_blocks(b.elements, [&](std::int64_t begin, std::int64_t end) {
    kernels::update_elements(unscaled, operands, begin, end);
  });
  kernels::for_blocks(b.elements, [&](std::int64_t begin, std::int64_t end) {
    convert_block(b.w + begin, end - begin, b.half + begin);
  });
}

void read_four_write_three(const StepBuffers& b) {
  kernels::for_blocks(b.elements, [&](std::int64_t begin, std::int64_t end) {
    touch_block(b.w + begin, b.moment1 + begin, b.moment2 + begin, b.gradient + begin, end - begin);
  });
}

}  // namespace sluice::benchmarks
