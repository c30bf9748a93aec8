// Five kernels of each kind in the bar, from AutoTM's tables (MIT licence, Copyright Mark Hildebrand; see
// testdata/README.md): the rule must stay as near to them as the whole result says.
#include "benchmarks/papers/autotm_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::benchmarks::autotm {
namespace {

constexpr Fit kFit{0.12, 240e-6};  // docs/results/autotm.md, emulation_autotm

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

TEST(AutotmKernels, AreMetWithinOneAndAHalfTimesByKind) {
  const auto kernels = read_kernels(SLUICE_TESTDATA);
  ASSERT_TRUE(kernels.ok()) << kernels.error().message;
  const memory::Machine machine = autotm_machine();
  int kinds = 0;
  for (const KernelKind& kind : by_kind(*kernels)) {
    std::vector<double> measured, predicted;
    for (const Kernel& kernel : kind.kernels) {
      const Placement& slowest = kernel.placements.back();
      measured.push_back(slowest.seconds / kernel.placements.front().seconds);
      predicted.push_back(predict(machine, kFit, kernel, slowest) / kernel.placements.front().seconds);
    }
    ++kinds;
    EXPECT_GE(measured.size(), 5U);
    EXPECT_LT(median(predicted), 1.5 * median(measured)) << kind.name;
    EXPECT_GT(median(predicted), median(measured) / 1.5) << kind.name;
  }
  EXPECT_EQ(kinds, 8);
}

TEST(AutotmKernels, PlacementsAreOrderedByWhatIsInOptane) {
  const auto kernels = read_kernels(SLUICE_TESTDATA);
  ASSERT_TRUE(kernels.ok());
  EXPECT_EQ(kernels->size(), 40U);
  for (const Kernel& kernel : *kernels) {
    EXPECT_EQ(kernel.placements.front().locations.find('P'), std::string::npos);
    EXPECT_NE(kernel.placements.back().locations.find('P'), std::string::npos);
    EXPECT_EQ(kernel.placements.back().locations.size(), kernel.inputs.size() + kernel.outputs.size());
  }
}

TEST(AutotmKernels, AFolderWithoutTablesIsAnError) {
  const auto kernels = read_kernels("/nowhere");
  ASSERT_FALSE(kernels.ok());
  EXPECT_EQ(kernels.error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace sluice::benchmarks::autotm
