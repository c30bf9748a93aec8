// Delayed updates against the same done by hand, and across checkpoints (graph/rewrite/delay_updates.hpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/cli/command_runner.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

constexpr float kRate = 0.05F;

// Without momentum and decay: a step changes a parameter by -rate times its gradient.
train::WorkloadOptions network(bool delayed) {
  return {.model = "resnet20",
          .shape = {.batch = 4, .width = 8},
          .optimizer = {.momentum = 0, .weight_decay = 0, .delayed = delayed}};
}

std::vector<float> parameters_of(train::Session& session) {
  std::vector<float> all;
  for (const graph::TensorId id : train::persistent_tensors(session.graph())) {
    if (session.graph().tensor(id).role != graph::Role::kParameter ||
        session.graph().tensor(id).init.kind == graph::Init::Kind::kRunningStats)
      continue;
    const auto values = session.parameters().read(id).value();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// The parameters after these steps, from the initial ones; a step's data goes by its number.
std::vector<float> after(bool delayed, const std::vector<std::int64_t>& steps) {
  train::Workload workload = test_workload(network(delayed));
  const memory::Machine machine = test_machine(1, {"file"});
  const plan::Plan plan = *test_plan(workload, machine, "fast-only", "100%");
  const auto session = train::Session::create(workload, machine, plan, {}).value();
  for (const std::int64_t step : steps) EXPECT_TRUE(session->run_step(step, kRate).ok());
  return parameters_of(*session);
}

TEST(DelayedUpdates, AreThoseDoneByHand) {
  const std::vector<float> initial = after(false, {});
  const std::vector<float> by_first = after(false, {0}), by_second = after(false, {1});
  EXPECT_EQ(after(true, {0}), initial) << "the first step only keeps its gradients";
  EXPECT_EQ(after(true, {0, 1}), by_first) << "the second updates by them";
  // The second step ran with the initial parameters, whose gradients the third one uses.
  const std::vector<float> both = after(true, {0, 1, 2});
  ASSERT_EQ(both.size(), initial.size());
  for (std::size_t i = 0; i < both.size(); ++i) {
    const float change = by_second[i] - initial[i];
    EXPECT_NEAR(both[i], by_first[i] + change, 1e-6F + 1e-3F * std::abs(change)) << i;
  }
}

std::string train_on(train::Workload& workload, const std::string& from, std::int64_t first, std::int64_t end,
                     const std::string& to) {
  const memory::Machine machine = test_machine(1, {"file"});
  const plan::Plan plan = *test_plan(workload, machine, "sentinel", "60%");
  const auto session = train::Session::create(workload, machine, plan, {}).value();
  if (!from.empty()) {
    EXPECT_EQ(session->load_checkpoint(from).value(), first);
  }
  for (std::int64_t step = first; step < end; ++step) EXPECT_TRUE(session->run_step(step, kRate).ok());
  if (!to.empty()) {
    EXPECT_TRUE(session->save_checkpoint(to, end).ok());
  }
  return session->hash_parameters().value();
}

TEST(DelayedUpdates, GoOnFromACheckpointWithTheGradientInFlight) {
  train::Workload workload = test_workload(network(true));
  const TemporaryFolder folder;
  const std::string file = folder.file("run.ckpt");
  const std::string expected = train_on(workload, "", 0, 5, "");
  train_on(workload, "", 0, 2, file);
  EXPECT_EQ(train_on(workload, file, 2, 5, ""), expected);
}

TEST(DelayedUpdates, BeginBehindARunWithout) {
  train::Workload plain = test_workload(network(false)), delayed = test_workload(network(true));
  const TemporaryFolder folder;
  const std::string without = folder.file("without.ckpt"), with = folder.file("with.ckpt");
  train_on(plain, "", 0, 2, without);
  // Step 3 only keeps its gradients.
  const std::string expected = train_on(delayed, without, 2, 5, "");
  train_on(delayed, without, 2, 3, with);
  EXPECT_EQ(train_on(delayed, with, 3, 5, ""), expected);
  const memory::Machine machine = test_machine(1, {"file"});
  const plan::Plan plan = *test_plan(plain, machine, "fast-only", "100%");
  const auto back = train::Session::create(plain, machine, plan, {}).value()->load_checkpoint(with);
  ASSERT_FALSE(back.ok());
  EXPECT_THAT(back.error().message, ::testing::HasSubstr("its settings is"));
}

TEST(DelayedUpdates, AreRefusedWhereAStepReadsWhatItHasUpdated) {
  const auto workload = train::build_workload(
      {.model = "dcgan", .shape = {.batch = 4, .image_size = 32, .width = 8}, .optimizer = {.delayed = true}});
  ASSERT_FALSE(workload.ok());
  EXPECT_EQ(workload.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(workload.error().message, ::testing::HasSubstr("dcgan reads parameters again"));
}

TEST(OnAGpu, WhatItHasNoKernelsForIsRefused) {
  const auto refusal = [](const graph::OptimizerOptions& optimizer, graph::Precision precision) {
    train::WorkloadOptions options = network(false);
    options.optimizer = optimizer;
    options.precision = precision;
    options.backend = "cuda";
    const auto workload = train::build_workload(options);
    return workload.ok() ? std::string() : workload.error().message;
  };
  EXPECT_THAT(refusal({.clip_norm = 1}, graph::Precision::kF32),
              ::testing::HasSubstr("do not go with --clip-norm yet"));
  EXPECT_THAT(refusal({.delayed = true}, graph::Precision::kF32),
              ::testing::HasSubstr("do not go with --delay-updates yet"));
  EXPECT_THAT(refusal({}, graph::Precision::kBF16Masters), ::testing::HasSubstr("bf16-masters; write bf16"));
}

}  // namespace
}  // namespace sluice::tests
