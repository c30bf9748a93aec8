// A run that is stopped, saved and resumed ends with the same bits as one that was not, also under another planner.
#include <gtest/gtest.h>

#include "tests/cli/command_runner.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice {
namespace {

// Trains from `first` (restoring `file` when it is not 0) up to `end`, then saves to `file`.
std::string train_part(Workload& workload, const Machine& machine, const Plan& plan, const std::string& file,
                       std::int64_t first, std::int64_t end) {
  auto session = Session::create(workload, machine, plan, {});
  SLUICE_CHECK(session.ok(), session.error().message);
  if (first > 0) {
    const auto next = (*session)->load_checkpoint(file);
    SLUICE_CHECK(next.ok(), next.error().message);
    EXPECT_EQ(*next, first);
  }
  for (std::int64_t step = first; step < end; ++step) {
    EXPECT_TRUE((*session)->run_step(step, 0.05F).ok());
  }
  const Status saved = (*session)->save_checkpoint(file, end);
  EXPECT_TRUE(saved.ok()) << saved.error().message;
  return *(*session)->hash_parameters();
}

TEST(ResumeTest, SameBitsAsWithoutInterruptionUnderAnyPlan) {
  Workload workload = small_workload("resnet20", 4, 1);
  const Machine file = test_machine(1, "file");
  const Machine optane = test_machine(1, "optane");
  const Plan whole = *test_plan(workload, file, "fast-only", "100%");
  const Plan on_demand = *test_plan(workload, file, "on-demand", "40%");
  const Plan sentinel = *test_plan(workload, optane, "sentinel", "50%");
  const std::string expected = train(workload, file, whole, 6).parameter_hash;
  const TemporaryFolder folder;
  const std::string checkpoint = folder.file("run.ckpt");
  const std::string first = train_part(workload, file, on_demand, checkpoint, 0, 2);
  EXPECT_NE(first, expected);
  train_part(workload, optane, sentinel, checkpoint, 2, 5);
  EXPECT_EQ(train_part(workload, file, whole, checkpoint, 5, 6), expected);
}

}  // namespace
}  // namespace sluice
