// A run that is stopped, saved and resumed ends with the same bits as one that was not, also under another planner.
#include <gtest/gtest.h>

#include "tests/cli/command_runner.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

// Trains from `first` (restoring `file` when it is not 0) up to `end`, then saves to `file`.
std::string train_part(train::Workload& workload, const memory::Machine& machine, const plan::Plan& plan,
                       const std::string& file, std::int64_t first, std::int64_t end) {
  auto session = train::Session::create(workload, machine, plan, {});
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
  train::Workload workload = small_workload("resnet20", 4, 1);
  const memory::Machine file = test_machine(1, {"file"});
  const memory::Machine optane = test_machine(1, {"optane"});
  const plan::Plan whole = *test_plan(workload, file, "fast-only", "100%");
  const plan::Plan on_demand = *test_plan(workload, file, "on-demand", "40%");
  const plan::Plan sentinel = *test_plan(workload, optane, "sentinel", "50%");
  const std::string expected = train(workload, file, whole, 6).parameter_hash;
  const TemporaryFolder folder;
  const std::string checkpoint = folder.file("run.ckpt");
  const std::string first = train_part(workload, file, on_demand, checkpoint, 0, 2);
  EXPECT_NE(first, expected);
  train_part(workload, optane, sentinel, checkpoint, 2, 5);
  EXPECT_EQ(train_part(workload, file, whole, checkpoint, 5, 6), expected);
}

// Adam's bias correction counts steps, and dropout draws by step: both must go on where they stopped.
TEST(ResumeTest, SameBitsWithAdamAndDropout) {
  train::Workload workload =
      test_workload({.model = "bert_base",
                     .shape = {.batch = 2, .classes = 100, .sequence = 16, .width = 64, .depth = 1},
                     .optimizer = {.optimizer = graph::Optimizer::kAdamW}});
  const memory::Machine file = test_machine(1, {"file"});
  const plan::Plan whole = *test_plan(workload, file, "fast-only", "100%");
  const plan::Plan sentinel = *test_plan(workload, file, "sentinel", "60%");
  const std::string expected = train(workload, file, whole, 5).parameter_hash;
  const TemporaryFolder folder;
  const std::string checkpoint = folder.file("run.ckpt");
  train_part(workload, file, sentinel, checkpoint, 0, 3);
  EXPECT_EQ(train_part(workload, file, whole, checkpoint, 3, 5), expected);
}

TEST(ResumeTest, RefusesACheckpointOfAnotherOptimizer) {
  train::Workload workload = small_workload("resnet20", 2, 1);
  const memory::Machine file = test_machine(1, {"file"});
  const TemporaryFolder folder;
  const std::string checkpoint = folder.file("run.ckpt");
  train_part(workload, file, *test_plan(workload, file, "fast-only", "100%"), checkpoint, 0, 1);
  train::Workload other = test_workload({.model = "resnet20",
                                         .shape = {.batch = 2},
                                         .optimizer = {.optimizer = graph::Optimizer::kSgd, .momentum = 0.5F}});
  auto session = train::Session::create(other, file, *test_plan(other, file, "fast-only", "100%"), {});
  ASSERT_TRUE(session.ok()) << session.error().message;
  const auto resumed = (*session)->load_checkpoint(checkpoint);
  ASSERT_FALSE(resumed.ok());
  EXPECT_NE(resumed.error().message.find("momentum 0.9"), std::string::npos) << resumed.error().message;
}

}  // namespace
}  // namespace sluice::tests
