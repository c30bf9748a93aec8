// The promise of same_bits_test on a GPU: under every planner that moves, at every budget that it can plan, every step's
// loss and every parameter have the bits of a run that keeps everything in the GPU's memory. Skipped where there is none.
#include <gtest/gtest.h>

#include <cmath>

#include "sluice/gpu/gpu_memory.hpp"
#include "sluice/testing/float_bits.hpp"
#include "sluice/testing/on_gpu.hpp"
#include "tests/e2e/small_families.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

constexpr std::int64_t kStepsOnGpu = 4;  // two step by step, then as a CUDA graph

std::vector<Family> families_of_gpu() {
  std::vector<Family> families = small_families();
  std::erase_if(families, [](const Family& each) {
    const graph::OptimizerOptions& optimizer = each.options.optimizer;
    const graph::Precision precision = each.options.precision;
    return optimizer.delayed || optimizer.accumulate > 1 || optimizer.clip_norm > 0 ||
           (precision != graph::Precision::kF32 && precision != graph::Precision::kBF16);
  });
  return families;
}

class GpuTest : public ::testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    SLUICE_SKIP_WITHOUT_GPU();
    machine_ = memory::make_machine({.threads = 1, .slow = {{"host", kGiB}}, .gpu = gpu::find_gpu().value()}).value();
  }

  memory::Machine machine_;
};

TEST_P(GpuTest, SameBitsOverPlannersAndBudgets) {
  train::WorkloadOptions options = GetParam().options;
  options.backend = "cuda";
  train::Workload workload = test_workload(options);
  const TrainedRun expected =
      train(workload, machine_, *test_plan(workload, machine_, "fast-only", "100%"), kStepsOnGpu, 0.01F);
  ASSERT_TRUE(std::isfinite(expected.losses.back()));
  ASSERT_NE(expected.losses.front(), expected.losses.back());
  int moving = 0;
  const auto expect_same = [&](const std::string& planner, const std::string& fast) {
    SCOPED_TRACE(planner + " " + fast);
    const Result<plan::Plan> plan = test_plan(workload, machine_, planner, fast);
    if (!plan.ok()) {
      EXPECT_TRUE(wants_more_room(plan.error().code)) << plan.error().message;
      return;
    }
    const TrainedRun run = train(workload, machine_, *plan, kStepsOnGpu, 0.01F);
    EXPECT_EQ(testing::bits_of(run.losses), testing::bits_of(expected.losses));
    EXPECT_EQ(run.parameter_hash, expected.parameter_hash);
    moving += run.bytes_moved > 0 ? 1 : 0;
  };
  for (const std::string fast : {"50%", "30%", "20%"}) {
    for (const std::string planner : {"sentinel", "autotm-async", "joint"}) expect_same(planner, fast);
  }
  // These leave parameters where they are: tight budgets are beyond them.
  for (const std::string planner : {"vdnn", "superneurons", "capuchin", "home:particles=20:iterations=10"})
    expect_same(planner, "75%");
  // Of small networks one op with its workspace may need most of the memory.
  for (const std::string fast : {"60%", "75%", "90%"}) {
    if (moving == 0) expect_same("on-demand", fast);
  }
  EXPECT_GT(moving, 0) << "no budget at which something moves";
}

INSTANTIATE_TEST_SUITE_P(Models, GpuTest, ::testing::ValuesIn(testing::cases_on_gpu(families_of_gpu())),
                         [](const auto& instance) { return instance.param.name; });

// A budget beyond the device's memory is refused with what is there.
TEST(GpuMemoryTest, MoreThanThereIsNamesWhatWasAskedForAndWhatIsFree) {
  SLUICE_SKIP_WITHOUT_GPU();
  const Result<memory::GpuFacts> found = gpu::find_gpu();
  const Result<memory::Arena> arena = gpu::map_device_arena(found->capacity + kGiB, "gpu");
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.error().code, ErrorCode::kOutOfSpace);
  EXPECT_NE(arena.error().message.find(format_bytes(found->capacity + kGiB)), std::string::npos);
  EXPECT_NE(arena.error().message.find("are free"), std::string::npos);
}

}  // namespace
}  // namespace sluice::tests
