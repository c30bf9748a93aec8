// Training really learns: ResNet-20's loss on the synthetic set falls by more than half within 100 steps, with
// everything in fast memory and with a third of it beside a file.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sluice/testing/float_bits.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

double mean(std::vector<float>::const_iterator begin, std::vector<float>::const_iterator end) {
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

TEST(LearningTest, LossHalvesWithinAHundredSteps) {
  train::Workload workload = small_workload("resnet20", 16, 1);
  const memory::Machine machine = test_machine(1, {"file"});
  const TrainedRun fast = train(workload, machine, *test_plan(workload, machine, "fast-only", "100%"), 100, 0.02F);
  EXPECT_LT(mean(fast.losses.end() - 10, fast.losses.end()), 0.5 * mean(fast.losses.begin(), fast.losses.begin() + 5));
  const TrainedRun tiered = train(workload, machine, *test_plan(workload, machine, "sentinel", "33%"), 100, 0.02F);
  EXPECT_GT(tiered.bytes_moved, 0);
  EXPECT_EQ(testing::bits_of(tiered.losses), testing::bits_of(fast.losses));
  EXPECT_EQ(tiered.parameter_hash, fast.parameter_hash);
}

}  // namespace
}  // namespace sluice::tests
