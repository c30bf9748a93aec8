// The reference backend's gradients against differences of its outputs, op by op.
#include <gtest/gtest.h>

#include "sluice/testing/difference_check.hpp"

namespace sluice::kernels {
namespace {

constexpr std::uint64_t kGradientSeed = 77;

class ReferenceGradients : public ::testing::TestWithParam<testing::OpCase> {};

TEST_P(ReferenceGradients, EqualDifferencesOfTheOutput) {
  SCOPED_TRACE(::testing::Message() << "seed " << kGradientSeed);
  const testing::OpCase& tested = GetParam();
  testing::DifferenceCheck check(tested.graph, {}, testing::leaf_values(tested.graph, kGradientSeed));
  for (const testing::GradientClaim& claim : tested.gradients) check.expect_gradient(claim, 2e-3F, 1e-2, 6);
}

std::vector<testing::OpCase> cases_with_gradients() {
  std::vector<testing::OpCase> cases = testing::op_cases();
  std::erase_if(cases, [](const testing::OpCase& tested) { return tested.gradients.empty(); });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, ReferenceGradients, ::testing::ValuesIn(cases_with_gradients()),
                         [](const auto& tested) { return testing::test_name(tested.param); });

}  // namespace
}  // namespace sluice::kernels
