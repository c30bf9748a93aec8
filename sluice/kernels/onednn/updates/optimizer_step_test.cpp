#include "sluice/kernels/onednn/updates/optimizer_step.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"

namespace sluice::kernels {
namespace {

constexpr std::uint64_t kStepSeed = 11;

float rounded(float value, float /*format*/) { return value; }
BFloat16 rounded(float value, BFloat16 /*format*/) { return to_bf16(value); }
Float16 rounded(float value, Float16 /*format*/) { return to_fp16(value); }

template <typename OfGradient, typename OfHalf>
struct Elements {
  using Gradient = OfGradient;
  using Half = OfHalf;
};

// What an update works on, aligned as tensors are.
template <typename Types>
struct Parameter {
  using Gradient = typename Types::Gradient;
  using Half = typename Types::Half;

  explicit Parameter(std::int64_t count) : elements(count) {
    const auto size = as_index(count);
    for (std::size_t i = 0; i < size; ++i) {
      w.push_back(random_normal(kStepSeed, 0, i));
      gradient.push_back(rounded(1000 * random_normal(kStepSeed, 1, i), Gradient{}));
      moment1.push_back(0.1F * random_normal(kStepSeed, 2, i));
      moment2.push_back(0.01F * random_uniform(kStepSeed, 3, i));
    }
    half_room.resize(size + 32);
  }

  Half* half() {
    auto address = reinterpret_cast<std::uintptr_t>(half_room.data());
    address = (address + 63) / 64 * 64;
    return reinterpret_cast<Half*>(address);
  }

  UpdateOperands<Gradient, Half> operands() {
    return {w.data(), gradient.data(), moment1.data(), moment2.data(),
            w.data(), moment1.data(),  moment2.data(), half()};
  }

  std::vector<std::uint16_t> half_bits() {
    std::vector<std::uint16_t> bits;
    for (std::int64_t i = 0; i < elements; ++i) bits.push_back(half()[i].bits);
    return bits;
  }

  void expect_equal(Parameter& other) {
    EXPECT_EQ(w, other.w);
    EXPECT_EQ(moment1, other.moment1);
    EXPECT_EQ(moment2, other.moment2);
    EXPECT_EQ(half_bits(), other.half_bits());
  }

  std::int64_t elements;
  std::vector<float> w, moment1, moment2;
  std::vector<Gradient> gradient;
  std::vector<Half> half_room;
};

graph::UpdateAttributes adam(bool decoupled) {
  graph::UpdateAttributes attributes;
  attributes.momentum = 0.9F;
  attributes.beta2 = 0.99F;
  attributes.epsilon = 1e-6F;
  attributes.weight_decay = 0.02F;
  attributes.decoupled = decoupled;
  return attributes;
}

StepContext fourth_step() {
  StepContext context;
  context.step = 3;
  context.learning_rate = 0.01F;
  return context;
}

AdamStep usual_adam(bool decoupled) {
  AdamStep step = adam_step(adam(decoupled), fourth_step());
  step.scale = 1.0F / 1024;
  return step;
}

SgdStep usual_sgd() { return {.rate = 0.01F, .momentum = 0.9F, .weight_decay = 0.1F, .scale = 1.0F / 1024}; }

std::vector<VectorSet> sets_here() {
  std::vector<VectorSet> sets{VectorSet::kAnyX86};
  if (widest_vectors() >= VectorSet::kAvx2) sets.push_back(VectorSet::kAvx2);
  if (widest_vectors() >= VectorSet::kAvx512) sets.push_back(VectorSet::kAvx512);
  return sets;
}

template <typename Gradient>
class OptimizerStep : public ::testing::Test {};
using Formats = ::testing::Types<Elements<float, BFloat16>, Elements<BFloat16, BFloat16>, Elements<float, Float16>,
                                 Elements<Float16, Float16>>;
TYPED_TEST_SUITE(OptimizerStep, Formats);

TYPED_TEST(OptimizerStep, MakesTheSameBitsWithAnyVectorsAndInAnyPieces) {
  for (const std::int64_t count : {1, 15, 16, 17, 4096, 5000}) {
    const auto check = [&](const auto& step) {
      Parameter<TypeParam> expected(count);
      update_elements(step, expected.operands(), 0, count, VectorSet::kAnyX86);
      for (const VectorSet set : sets_here()) {
        Parameter<TypeParam> whole(count), pieces(count);
        update_elements(step, whole.operands(), 0, count, set);
        whole.expect_equal(expected);
        for (std::int64_t begin = 0; begin < count; begin += 96) {
          update_elements(step, pieces.operands(), begin, std::min(count, begin + 96), set);
        }
        pieces.expect_equal(expected);
      }
    };
    check(usual_sgd());
    SgdStep nesterov = usual_sgd();
    nesterov.nesterov = true;
    check(nesterov);
    check(usual_adam(false));
    check(usual_adam(true));
  }
}

// In fp64, as algorithm 4 and PyTorch say it.
TYPED_TEST(OptimizerStep, IsAdam) {
  for (const bool decoupled : {false, true}) {
    Parameter<TypeParam> before(100), after(100);
    update_elements(usual_adam(decoupled), after.operands(), 0, 100);
    for (std::size_t i = 0; i < 100; ++i) {
      double given = 0;
      if constexpr (std::is_same_v<typename TypeParam::Gradient, float>)
        given = before.gradient[i];
      else
        given = to_float(before.gradient[i]);
      const double w = before.w[i], decay = 0.02, rate = 0.01;
      const double gradient = given / 1024 + (decoupled ? 0 : decay * w);
      const double mean = 0.9 * before.moment1[i] + 0.1 * gradient;
      const double square = 0.99 * before.moment2[i] + 0.01 * gradient * gradient;
      const double root = std::sqrt(square / (1 - std::pow(0.99, 4))) + 1e-6;
      const double expected = w - (decoupled ? rate * decay * w : 0) - rate * (mean / (1 - std::pow(0.9, 4))) / root;
      EXPECT_NEAR(after.moment1[i], mean, 1e-6 * (1 + std::abs(mean)));
      EXPECT_NEAR(after.moment2[i], square, 1e-6 * (1 + square));
      EXPECT_NEAR(after.w[i], expected, 2e-6 * (1 + std::abs(expected)));
    }
  }
}

TYPED_TEST(OptimizerStep, RoundsTheNewParameter) {
  Parameter<TypeParam> parameter(77);
  update_elements(usual_adam(false), parameter.operands(), 0, 77);
  for (std::size_t i = 0; i < 77; ++i)
    EXPECT_EQ(parameter.half()[i].bits, rounded(parameter.w[i], typename TypeParam::Half{}).bits);
}

TYPED_TEST(OptimizerStep, TouchesNothingBehindTheLastElement) {
  Parameter<TypeParam> parameter(64), untouched(64);
  update_elements(usual_adam(false), parameter.operands(), 0, 33);
  for (std::size_t i = 33; i < 64; ++i) {
    EXPECT_EQ(parameter.w[i], untouched.w[i]);
    EXPECT_EQ(parameter.moment1[i], untouched.moment1[i]);
    EXPECT_EQ(parameter.moment2[i], untouched.moment2[i]);
    EXPECT_EQ(parameter.half()[i].bits, 0);
  }
}

TEST(OptimizerStepRules, TakeWhatTheyDoToAllElementsFromTheStep) {
  const AdamStep first = adam_step(adam(false), {.step = 0, .learning_rate = 0.5F});
  EXPECT_NEAR(first.step_size, 5, 1e-5);  // 0.5 / (1 - 0.9)
  EXPECT_NEAR(first.root_correction, 10, 1e-4);
  EXPECT_FLOAT_EQ(first.keep, 1);
  graph::UpdateAttributes delayed = adam(false);
  delayed.delayed = true;
  EXPECT_FLOAT_EQ(adam_step(delayed, {.step = 1, .learning_rate = 0.5F}).step_size, first.step_size)
      << "the first update";
  const AdamStep decoupled = adam_step(adam(true), {.step = 0, .learning_rate = 0.5F});
  EXPECT_FLOAT_EQ(decoupled.keep, 0.99F);
  EXPECT_EQ(decoupled.weight_decay, 0);
}

}  // namespace
}  // namespace sluice::kernels
