// Several batches a step against the same done by hand, and against one large batch (graph/rewrite/accumulate_gradients.hpp).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

constexpr float kAccumulatedRate = 0.05F;

// Without momentum and decay: a step changes a parameter by -rate times its gradient.
graph::OptimizerOptions plain_steps(int accumulate) {
  return {.momentum = 0, .weight_decay = 0, .accumulate = accumulate};
}

struct Trained {
  std::vector<float> parameters;
  float loss = 0;  // of the last step
};

Trained after_steps(const train::WorkloadOptions& options, const std::vector<std::int64_t>& steps) {
  train::Workload workload = test_workload(options);
  const memory::Machine machine = test_machine(1, {"file"});
  const plan::Plan plan = *test_plan(workload, machine, "fast-only", "100%");
  const auto session = train::Session::create(workload, machine, plan, {}).value();
  Trained result;
  for (const std::int64_t step : steps) result.loss = session->run_step(step, kAccumulatedRate).value().loss;
  for (const graph::TensorId id : train::persistent_tensors(session->graph())) {
    if (session->graph().tensor(id).role != graph::Role::kParameter) continue;
    const auto values = session->parameters().read(id).value();
    result.parameters.insert(result.parameters.end(), values.begin(), values.end());
  }
  return result;
}

TEST(AccumulatedGradients, AreTheMeanOfThoseOfSingleBatches) {
  const auto network = [](int accumulate) {
    return train::WorkloadOptions{
        .model = "resnet20", .shape = {.batch = 4, .width = 8}, .optimizer = plain_steps(accumulate)};
  };
  const std::vector<float> initial = after_steps(network(1), {}).parameters;
  const Trained together = after_steps(network(3), {1});  // batches 3, 4 and 5
  std::vector<Trained> alone;
  for (const std::int64_t batch : {3, 4, 5}) alone.push_back(after_steps(network(1), {batch}));
  EXPECT_NEAR(together.loss, (alone[0].loss + alone[1].loss + alone[2].loss) / 3, 1e-6F);
  ASSERT_EQ(together.parameters.size(), initial.size());
  for (std::size_t i = 0; i < initial.size(); ++i) {
    float change = 0;
    for (const Trained& each : alone) change += (each.parameters[i] - initial[i]) / 3;
    EXPECT_NEAR(together.parameters[i] - initial[i], change, 1e-6F + 1e-3F * std::abs(change)) << i;
  }
}

TEST(AccumulatedGradients, AreThoseOfOneLargeBatchWhereSamplesDoNotMeet) {
  const auto network = [](std::int64_t batch, int accumulate) {
    return train::WorkloadOptions{
        .model = "gpt2_small",
        .shape = {.batch = batch, .classes = 200, .sequence = 32, .width = 64, .depth = 2, .dropout = 0},
        .optimizer = plain_steps(accumulate)};
  };
  const Trained large = after_steps(network(4, 1), {0, 1}), parts = after_steps(network(1, 4), {0, 1});
  EXPECT_NEAR(parts.loss, large.loss, 1e-5F);
  ASSERT_EQ(parts.parameters.size(), large.parameters.size());
  for (std::size_t i = 0; i < large.parameters.size(); ++i) {
    EXPECT_NEAR(parts.parameters[i], large.parameters[i], 1e-5F) << i;
  }
}

}  // namespace
}  // namespace sluice::tests
