// The reference backend's gradients against differences of its outputs, op by op.
#include <gtest/gtest.h>

#include "sluice/testing/difference_check.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t kGradientSeed = 77;

class ReferenceGradients : public ::testing::TestWithParam<OpCase> {};

TEST_P(ReferenceGradients, EqualDifferencesOfTheOutput) {
  SCOPED_TRACE(::testing::Message() << "seed " << kGradientSeed);
  const OpCase& tested = GetParam();
  DifferenceCheck check(tested.graph, {}, leaf_values(tested.graph, kGradientSeed));
  for (const GradientClaim& claim : tested.gradients) check.expect_gradient(claim, 2e-3F, 1e-2, 6);
}

std::vector<OpCase> cases_with_gradients() {
  std::vector<OpCase> cases = op_cases();
  std::erase_if(cases, [](const OpCase& tested) { return tested.gradients.empty(); });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, ReferenceGradients, ::testing::ValuesIn(cases_with_gradients()),
                         [](const auto& tested) { return test_name(tested.param); });

}  // namespace
}  // namespace sluice
