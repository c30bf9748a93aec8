// Training in fp16 with losses scaled (graph/rewrite/scale_loss.hpp): what overflows is left out, under any plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sluice/memory/processors.hpp"
#include "tests/cli/command_runner.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

using ::testing::HasSubstr;

constexpr float kFp16Rate = 0.02F;

train::WorkloadOptions fp16_network(const graph::OptimizerOptions& optimizer) {
  return {.model = "gpt2_small",
          .shape = {.batch = 2, .classes = 200, .sequence = 32, .width = 64, .depth = 2},
          .optimizer = optimizer,
          .precision = graph::Precision::kF16Masters};
}

graph::OptimizerOptions adamw_from(float loss_scale) {
  return {.optimizer = graph::Optimizer::kAdamW, .loss_scale = loss_scale};
}

struct Fp16Run {
  std::vector<float> losses, scales;
  std::vector<bool> left_out;
  std::string hash;
};

Fp16Run run_fp16(const train::WorkloadOptions& options, std::int64_t first, std::int64_t end,
                 const std::string& planner = "fast-only", const std::string& fast = "100%",
                 const std::string& from = "", const std::string& to = "") {
  train::Workload workload = test_workload(options);
  const memory::Machine machine = test_machine(1, {"file"});
  const plan::Plan plan = *test_plan(workload, machine, planner, fast);
  const auto session = train::Session::create(workload, machine, plan, {}).value();
  if (!from.empty()) {
    EXPECT_EQ(session->load_checkpoint(from).value(), first);
  }
  Fp16Run run;
  for (std::int64_t step = first; step < end; ++step) {
    const train::StepOutcome outcome = session->run_step(step, kFp16Rate).value();
    run.losses.push_back(outcome.loss);
    run.scales.push_back(*outcome.loss_scale);
    run.left_out.push_back(outcome.left_out);
  }
  if (!to.empty()) {
    EXPECT_TRUE(session->save_checkpoint(to, end).ok());
  }
  run.hash = session->hash_parameters().value();
  return run;
}

TEST(LossScale, IsHalvedUntilNothingOverflows) {
  const Fp16Run run = run_fp16(fp16_network(adamw_from(16777216)), 0, 8);
  ASSERT_TRUE(run.left_out.front()) << "else this network shows nothing";
  ASSERT_FALSE(run.left_out.back());
  float scale = 16777216;
  for (std::size_t step = 0; step < run.scales.size(); ++step) {
    if (run.left_out[step]) scale /= 2;
    EXPECT_EQ(run.scales[step], scale) << step;
  }
}

// Powers of two round nothing but denormals, so a run without overflows has nearly the parameters of any other scale.
// By SGD: Adam would not see a factor of all gradients.
TEST(LossScale, LeavesTheTrainingAsItIs) {
  const auto from = [](float scale) {
    return fp16_network({.optimizer = graph::Optimizer::kSgd, .loss_scale = scale});
  };
  const Fp16Run small = run_fp16(from(1024), 0, 6), large = run_fp16(from(16384), 0, 6);
  train::WorkloadOptions exact = from(1024);
  exact.precision = graph::Precision::kF32;
  train::Workload workload = test_workload(exact);
  const memory::Machine machine = test_machine(1, {"file"});
  const plan::Plan plan = *test_plan(workload, machine, "fast-only", "100%");
  const auto session = train::Session::create(workload, machine, plan, {}).value();
  for (std::size_t step = 0; step < small.losses.size(); ++step) {
    ASSERT_FALSE(small.left_out[step]);
    ASSERT_FALSE(large.left_out[step]);
    const float loss = session->run_step(static_cast<std::int64_t>(step), kFp16Rate).value().loss;
    EXPECT_NEAR(small.losses[step], large.losses[step], 1e-3F) << step;
    EXPECT_NEAR(small.losses[step], loss, 2e-3F) << step;
  }
  EXPECT_GT(small.losses.front() - small.losses.back(), 0.05F) << "else updates might do nothing";
}

// Parameters and moments.
TEST(LossScale, LeavesOutAStepWhole) {
  const train::WorkloadOptions options = fp16_network(adamw_from(16777216));
  train::Workload workload = test_workload(options);
  const memory::Machine machine = test_machine(1, {"file"});
  const plan::Plan plan = *test_plan(workload, machine, "fast-only", "100%");
  const auto session = train::Session::create(workload, machine, plan, {}).value();
  const auto values = [&] {
    std::vector<float> all;
    for (const graph::TensorId id : train::persistent_tensors(session->graph())) {
      const graph::Tensor& tensor = session->graph().tensor(id);
      if (tensor.name.starts_with("loss_scale")) continue;
      const auto each = session->parameters().read(id).value();
      all.insert(all.end(), each.begin(), each.end());
    }
    return all;
  };
  const std::vector<float> before = values();
  ASSERT_TRUE(session->run_step(0, kFp16Rate).value().left_out);
  EXPECT_EQ(values(), before);
}

TEST(LossScale, HasTheSameBitsUnderAnyPlanAndAfterAResume) {
  for (const bool delayed : {false, true}) {
    graph::OptimizerOptions optimizer = adamw_from(4194304);
    optimizer.clip_norm = 0.5F;
    optimizer.accumulate = 2;
    optimizer.delayed = delayed;
    const train::WorkloadOptions options = fp16_network(optimizer);
    const Fp16Run whole = run_fp16(options, 0, 8);
    ASSERT_NE(std::ranges::find(whole.left_out, true), whole.left_out.end());
    const Fp16Run tight = run_fp16(options, 0, 8, "sentinel", "50%");
    EXPECT_EQ(tight.hash, whole.hash);
    EXPECT_EQ(tight.scales, whole.scales);
    const TemporaryFolder folder;
    const std::string file = folder.file("half.ckpt");
    run_fp16(options, 0, 3, "fast-only", "100%", "", file);
    const Fp16Run resumed = run_fp16(options, 3, 8, "joint", "60%", file);
    EXPECT_EQ(resumed.hash, whole.hash);
    EXPECT_TRUE(std::equal(resumed.scales.begin(), resumed.scales.end(), whole.scales.begin() + 3));
  }
}

// On the host, with the scale on the device: the passes read it, and updates what it was.
TEST(LossScale, HasTheSameBitsWhereAHostUpdates) {
  for (const bool delayed : {false, true}) {
    graph::OptimizerOptions optimizer = adamw_from(4194304);
    optimizer.delayed = delayed;
    const train::WorkloadOptions options = fp16_network(optimizer);
    const Fp16Run expected = run_fp16(options, 0, 6);
    ASSERT_NE(std::ranges::find(expected.left_out, true), expected.left_out.end());
    train::WorkloadOptions with_host = options;
    with_host.other_processors = {{1, std::string(kDefaultBackend)}};
    train::Workload workload = test_workload(with_host);
    memory::Machine machine = test_machine(1, {"pcie3"});
    ASSERT_TRUE(memory::add_processors({{"device", 1, {}}, {"host", 1, {"pcie3"}}}, machine).ok());
    const plan::Plan plan = *test_plan(workload, machine, "zero-offload", "100%");
    const auto session = train::Session::create(workload, machine, plan, {}).value();
    for (std::int64_t step = 0; step < 6; ++step) {
      const train::StepOutcome outcome = session->run_step(step, kFp16Rate).value();
      EXPECT_EQ(*outcome.loss_scale, expected.scales[static_cast<std::size_t>(step)]) << step;
    }
    EXPECT_EQ(session->hash_parameters().value(), expected.hash);
  }
}

// The scale of gradients in flight is the run's own from the first step with a delay on.
TEST(LossScale, GoesOnWithDelays) {
  const TemporaryFolder folder;
  const std::string file = folder.file("exact.ckpt");
  graph::OptimizerOptions optimizer = adamw_from(4194304);
  const Fp16Run before = run_fp16(fp16_network(optimizer), 0, 5, "fast-only", "100%", "", file);
  ASSERT_TRUE(before.left_out.front());
  optimizer.delayed = true;
  const Fp16Run after = run_fp16(fp16_network(optimizer), 5, 9, "fast-only", "100%", file);
  EXPECT_LE(after.scales.front(), before.scales.back());
  EXPECT_FALSE(after.left_out.front()) << "there is no gradient yet";
  EXPECT_LT(after.losses.back(), before.losses.front());
}

// Two steps overflow with a scale before the first one's overflow is known.
TEST(LossScale, FallsWithDelaysAsWithout) {
  graph::OptimizerOptions optimizer = adamw_from(16777216);
  const Fp16Run plain = run_fp16(fp16_network(optimizer), 0, 12);
  optimizer.delayed = true;
  const Fp16Run delayed = run_fp16(fp16_network(optimizer), 0, 12);
  const auto first_kept = [](const Fp16Run& run, std::size_t from) {
    return run.scales[static_cast<std::size_t>(
        std::find(run.left_out.begin() + static_cast<std::ptrdiff_t>(from), run.left_out.end(), false) -
        run.left_out.begin())];
  };
  EXPECT_EQ(first_kept(delayed, 1), first_kept(plain, 0)) << "no scale was passed over";
  for (std::size_t step = 1; step < delayed.scales.size(); ++step) {
    EXPECT_GE(delayed.scales[step], delayed.scales[step - 1] / 2) << step;
  }
}

TEST(LossScale, SaysWhereNoScaleIsSmallEnough) {
  train::Workload workload = test_workload(fp16_network({.loss_scale = 1}));
  const memory::Machine machine = test_machine(1, {"file"});
  const plan::Plan plan = *test_plan(workload, machine, "fast-only", "100%");
  const auto session = train::Session::create(workload, machine, plan, {}).value();
  ASSERT_TRUE(session->run_step(0, 1e9).ok()) << "its gradients are finite, its update is not";
  const auto failed = session->run_step(1, 1e9);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("step 2: gradients overflow fp16 even with a loss scale of 1"));
  EXPECT_THAT(failed.error().message, HasSubstr("bf16-masters"));
}

TEST(LossScale, IsNotForStepsThatUpdateTwice) {
  const auto refused = train::build_workload({.model = "dcgan",
                                              .shape = {.batch = 4, .image_size = 32, .width = 8},
                                              .precision = graph::Precision::kF16Masters});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("--precision fp16-masters"));
}

}  // namespace
}  // namespace sluice::tests
