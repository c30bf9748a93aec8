#include "sluice/kernels/onednn/updates/update_lion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sluice/base/random.hpp"

namespace sluice::kernels {
namespace {

constexpr std::int64_t kElements = 5003;

struct LionParameter {
  LionParameter() : w(kElements), gradient(kElements), mean(kElements), half(kElements + 32) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i] = random_normal(1, 0, i);
      gradient[i] = to_bf16(1000 * random_normal(1, 1, i));
      mean[i] = i % 7 == 0 ? 0 : random_normal(1, 2, i);
      if (i % 7 == 0) gradient[i] = to_bf16(0);  // no direction
    }
  }
  BFloat16* copy() {
    const auto address = reinterpret_cast<std::uintptr_t>(half.data());
    return reinterpret_cast<BFloat16*>((address + 63) / 64 * 64);
  }
  UpdateOperands<BFloat16> operands() {
    return {w.data(), gradient.data(), mean.data(), nullptr, w.data(), mean.data(), nullptr, copy()};
  }

  std::vector<float> w;
  std::vector<BFloat16> gradient;
  std::vector<float> mean;
  std::vector<BFloat16> half;
};

LionStep usual_step() {
  LionStep step = lion_step({.momentum = 0.9, .weight_decay = 0.1, .beta2 = 0.99}, {.step = 4, .learning_rate = 0.01});
  step.scale = 1.0F / 1024;
  return step;
}

TEST(LionStep, MakesTheSameBitsWithAnyVectorsAndInAnyPieces) {
  LionParameter expected;
  update_elements(usual_step(), expected.operands(), 0, kElements, VectorSet::kAnyX86);
  for (const VectorSet set : {VectorSet::kAvx2, VectorSet::kAvx512}) {
    if (set > widest_vectors()) continue;
    LionParameter whole, pieces;
    update_elements(usual_step(), whole.operands(), 0, kElements, set);
    for (std::int64_t begin = 0; begin < kElements; begin += 96)
      update_elements(usual_step(), pieces.operands(), begin, std::min(kElements, begin + 96), set);
    for (const LionParameter* each : {&whole, &pieces}) {
      EXPECT_EQ(each->w, expected.w);
      EXPECT_EQ(each->mean, expected.mean);
    }
  }
}

TEST(LionStep, GoesByTheSignOfOneMeanAndKeepsAnother) {
  const LionParameter before;
  LionParameter after;
  update_elements(usual_step(), after.operands(), 0, kElements);
  int up = 0, down = 0, nowhere = 0;
  for (std::size_t i = 0; i < before.w.size(); ++i) {
    const double gradient = static_cast<double>(to_float(before.gradient[i])) / 1024;
    const double direction = 0.9 * static_cast<double>(before.mean[i]) + 0.1 * gradient;
    const double sign = direction > 0 ? 1 : direction < 0 ? -1 : 0;
    ++(sign > 0 ? up : sign < 0 ? down : nowhere);
    EXPECT_NEAR(after.w[i], before.w[i] * 0.999 - 0.01 * sign, 1e-6) << i;
    EXPECT_NEAR(after.mean[i], 0.99 * static_cast<double>(before.mean[i]) + 0.01 * gradient, 1e-6) << i;
    EXPECT_EQ(after.copy()[i].bits, to_bf16(after.w[i]).bits) << i;
  }
  EXPECT_TRUE(up > 1000 && down > 1000 && nowhere > 500);
}

}  // namespace
}  // namespace sluice::kernels
