// Every op case in bf16 on a GPU: near what the reference makes of the same bf16 operands. Skipped where there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sluice/kernels/backends/backends.hpp"
#include "sluice/testing/on_gpu.hpp"
#include "sluice/testing/op_cases/op_cases.hpp"
#include "sluice/testing/training_run.hpp"

namespace sluice::kernels {
namespace {

constexpr std::uint64_t kBf16Seed = 7;

class Bf16OnGpu : public ::testing::TestWithParam<testing::OpCase> {};

// bf16 has 8 bits: results of several ops in a row are a few of the last ones away.
TEST_P(Bf16OnGpu, IsNearTheReference) {
  SLUICE_SKIP_WITHOUT_GPU();
  const graph::Graph logical = testing::in_bf16(GetParam().graph);
  const auto fast = testing::compiled(make_cuda_backend(), logical);
  const auto slow = testing::compiled(make_reference_backend(), logical);
  testing::GraphRunner fast_runner(*fast);
  testing::GraphRunner slow_runner(*slow);
  const testing::NamedValues leaves = testing::leaf_values(logical, kBf16Seed);
  const StepContext context{.learning_rate = 0.1F};
  const testing::NamedValues actual = testing::run_case(logical, fast_runner, leaves, context);
  for (const auto& [name, expected] : testing::run_case(logical, slow_runner, leaves, context)) {
    SCOPED_TRACE(name);
    float largest = 1e-3F;
    for (const float value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(actual.at(name)[i], expected[i], 0.03F * largest) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Bf16OnGpu, ::testing::ValuesIn(testing::cases_on_gpu(testing::op_cases_of_gpu())),
                         [](const auto& tested) { return testing::test_name(tested.param); });

}  // namespace
}  // namespace sluice::kernels
