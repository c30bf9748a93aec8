#include "sluice/kernels/onednn/vectors/vector_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The largest of `error(x)` over [-limit, limit].
template <typename Error>
double largest_error(float limit, const Error& error) {
  constexpr int kSteps = 200001;
  double largest = 0;
  for (int i = 0; i < kSteps; ++i) {
    const float x = limit * (2.0F * static_cast<float>(i) / (kSteps - 1) - 1.0F);
    largest = std::max(largest, error(x));
  }
  return largest;
}

double relative(double actual, double expected) {
  return expected == 0 ? std::abs(actual) : std::abs(actual / expected - 1);
}

TEST(VectorMath, ErrorsAreWhatTheHeaderSays) {
  EXPECT_LT(largest_error(86.0F, [](float x) { return relative(vector_exp(x), std::exp(double{x})); }), 3e-7);
  EXPECT_LT(largest_error(20.0F, [](float x) { return relative(vector_tanh(x), std::tanh(double{x})); }), 3e-7);
  EXPECT_LT(largest_error(80.0F, [](float x) { return relative(vector_sigmoid(x), 1 / (1 + std::exp(-double{x}))); }),
            3e-7);
  EXPECT_LT(largest_error(6.0F, [](float x) { return std::abs(vector_erf(x) - std::erf(double{x})); }), 6e-7);
}

TEST(VectorMath, LimitsAreReached) {
  EXPECT_EQ(vector_exp(-kInfinity), 0.0F);
  EXPECT_EQ(vector_exp(-200.0F), 0.0F);
  EXPECT_EQ(vector_exp(200.0F), kInfinity);
  EXPECT_NEAR(vector_exp(88.7F) / std::exp(88.7F), 1.0F, 1e-5F);
  EXPECT_EQ(vector_exp(0.0F), 1.0F);
  EXPECT_EQ(vector_tanh(kInfinity), 1.0F);
  EXPECT_EQ(vector_tanh(-kInfinity), -1.0F);
  EXPECT_EQ(vector_sigmoid(-kInfinity), 0.0F);
  EXPECT_EQ(vector_sigmoid(kInfinity), 1.0F);
  EXPECT_EQ(vector_erf(kInfinity), 1.0F);
  EXPECT_EQ(vector_erf(-kInfinity), -1.0F);
}

TEST(VectorMath, NotANumberStaysOne) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(vector_exp(nan)));
  EXPECT_TRUE(std::isnan(vector_tanh(nan)));
  EXPECT_TRUE(std::isnan(vector_sigmoid(nan)));
  EXPECT_TRUE(std::isnan(vector_erf(nan)));
}

}  // namespace
}  // namespace sluice::kernels
