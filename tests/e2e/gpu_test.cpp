// The promise of same_bits_test on a GPU: under every planner that moves, at every budget that it can plan, every step's
// loss and every parameter have the bits of a run that keeps everything in the GPU's memory. Skipped where there is none.
#include <gtest/gtest.h>

#include <cmath>

#include "sluice/exec/gpu/gpu_memory.hpp"
#include "sluice/testing/float_bits.hpp"
#include "tests/e2e/small_families.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice {
namespace {

constexpr std::int64_t kStepsOnGpu = 4;  // two step by step, then as a CUDA graph

class GpuTest : public ::testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    const Result<GpuFacts> found = find_gpu();
    if (!found.ok()) GTEST_SKIP() << found.error().message;
    machine_ = make_machine({.threads = 1, .slow = {{"host", kGiB}}, .gpu = *found}).value();
  }

  Machine machine_;
};

TEST_P(GpuTest, SameBitsOverPlannersAndBudgets) {
  WorkloadOptions options = GetParam().options;
  options.backend = "cuda";
  Workload workload = test_workload(options);
  const TrainedRun expected =
      train(workload, machine_, *test_plan(workload, machine_, "fast-only", "100%"), kStepsOnGpu, 0.01F);
  ASSERT_TRUE(std::isfinite(expected.losses.back()));
  ASSERT_NE(expected.losses.front(), expected.losses.back());
  int moving = 0;
  for (const std::string planner :
       {"on-demand", "sentinel", "autotm-async", "vdnn", "capuchin", "home:particles=40:iterations=20", "joint"}) {
    for (const std::string fast : {"70%", "50%", "30%", "20%"}) {
      SCOPED_TRACE(planner + " " + fast);
      const Result<Plan> plan = test_plan(workload, machine_, planner, fast);
      if (!plan.ok()) {
        EXPECT_EQ(plan.error().code, ErrorCode::kInfeasible) << plan.error().message;
        continue;
      }
      const TrainedRun run = train(workload, machine_, *plan, kStepsOnGpu, 0.01F);
      EXPECT_EQ(testing::bits_of(run.losses), testing::bits_of(expected.losses));
      EXPECT_EQ(run.parameter_hash, expected.parameter_hash);
      moving += run.bytes_moved > 0 ? 1 : 0;
    }
  }
  EXPECT_GE(moving, 4) << "too few combinations could be planned for this test to mean much";
}

INSTANTIATE_TEST_SUITE_P(Models, GpuTest, ::testing::ValuesIn(small_families()),
                         [](const auto& instance) { return instance.param.name; });

// A budget beyond the device's memory is refused with what is there.
TEST(GpuMemoryTest, MoreThanThereIsNamesWhatWasAskedForAndWhatIsFree) {
  const Result<GpuFacts> found = find_gpu();
  if (!found.ok()) GTEST_SKIP() << found.error().message;
  const Result<Arena> arena = map_device_arena(found->capacity + kGiB, "gpu");
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.error().code, ErrorCode::kOutOfSpace);
  EXPECT_NE(arena.error().message.find(format_bytes(found->capacity + kGiB)), std::string::npos);
  EXPECT_NE(arena.error().message.find("are free"), std::string::npos);
}

}  // namespace
}  // namespace sluice
