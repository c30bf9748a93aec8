// Whole training steps on the reference backend: gradients of every parameter against differences of the loss, and
// rewritten graphs against plain ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/testing/difference_check.hpp"
#include "sluice/testing/small_networks.hpp"
#include "sluice/testing/wave_input.hpp"

namespace sluice::kernels {
namespace {

constexpr std::uint64_t kNetworkSeed = 77;

bool is_update(const graph::Op& op) {
  return op.kind == graph::OpKind::kSgdUpdate || op.kind == graph::OpKind::kAdamUpdate;
}

struct TrainedParameter {
  std::string name, gradient;
  std::vector<graph::TensorId> losses;  // of its stage, which the gradient is of
};

std::vector<TrainedParameter> trained_parameters(const graph::Graph& training) {
  std::vector<TrainedParameter> found;
  std::vector<graph::TensorId> losses;
  bool updating = false;
  for (const graph::Op& op : training.ops()) {
    if (is_update(op)) {
      found.push_back({training.tensor(op.inputs[0]).name, training.tensor(op.inputs[1]).name, losses});
      updating = true;
    }
    for (const graph::TensorId id : op.outputs) {
      if (training.tensor(id).role != graph::Role::kOutput) continue;
      if (std::exchange(updating, false)) losses.clear();  // a new stage
      losses.push_back(id);
    }
  }
  return found;
}

// The name of the sum of these losses, made by ops behind the step.
std::string total_loss(graph::Graph& training, const std::vector<graph::TensorId>& losses) {
  graph::TensorId total = losses.at(0);
  for (std::size_t i = 1; i < losses.size(); ++i) {
    const std::string name = training.tensor(total).name + "+" + training.tensor(losses[i]).name;
    graph::Op op{.name = name, .kind = graph::OpKind::kAdd, .inputs = {total, losses[i]}};
    total = training.add_tensor({.name = name, .shape = {1}});
    op.outputs = {total};
    training.add_op(std::move(op));
  }
  return training.tensor(total).name;
}

class Networks : public ::testing::TestWithParam<testing::SmallNetwork> {
 protected:
  const graph::Graph& forward() const { return GetParam().forward; }
};

// A learning rate of zero: a later stage then sees the parameters that the differences start from.
TEST_P(Networks, GradientsOfEveryParameterEqualDifferencesOfTheLoss) {
  SCOPED_TRACE("seed " + std::to_string(kNetworkSeed));
  graph::Graph training = graph::build_training_graph(forward(), {});
  const std::vector<TrainedParameter> parameters = trained_parameters(training);
  std::vector<std::string> totals;
  totals.reserve(parameters.size());
  for (const TrainedParameter& parameter : parameters) totals.push_back(total_loss(training, parameter.losses));
  testing::WaveInput input(training);
  testing::DifferenceCheck check(training, {.input = &input, .seed = kNetworkSeed},
                                 testing::leaf_values(training, kNetworkSeed));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    SCOPED_TRACE(parameters[i].name);
    check.expect_gradient({totals[i], "", parameters[i].name, parameters[i].gradient}, 2e-3F, 2e-2, 5);
  }
  std::size_t in_model = 0;
  for (const graph::Tensor& tensor : forward().tensors()) in_model += tensor.role == graph::Role::kParameter ? 1U : 0U;
  EXPECT_EQ(parameters.size(), in_model) << "every parameter is trained once a step";
}

struct TrainedValues {
  std::vector<float> losses;
  testing::NamedValues parameters;
};

TrainedValues train(const graph::Graph& training, int steps) {
  const auto compiled = make_reference_backend()->compile(training, 1).value();
  testing::GraphRunner runner(*compiled);
  runner.initialise(kNetworkSeed);
  testing::WaveInput input(training);
  TrainedValues values;
  for (int step = 0; step < steps; ++step) {
    runner.run_step({.step = step, .learning_rate = 0.02F, .input = &input, .seed = kNetworkSeed});
    for (graph::TensorId id = 0; id < runner.graph().tensor_count(); ++id)
      if (runner.graph().tensor(id).role == graph::Role::kOutput) values.losses.push_back(runner.plain(id).at(0));
  }
  for (graph::TensorId id = 0; id < runner.graph().tensor_count(); ++id) {
    const graph::Tensor& tensor = runner.graph().tensor(id);
    if (graph::is_persistent(tensor.role)) values.parameters[tensor.name] = runner.plain(id);
  }
  return values;
}

TEST_P(Networks, RecomputingActivationsChangesNoBit) {
  for (const graph::Optimizer optimizer : {graph::Optimizer::kSgd, graph::Optimizer::kAdam, graph::Optimizer::kAdamW}) {
    const TrainedValues kept =
        train(graph::build_training_graph(forward(),
                                          {.optimizer = optimizer, .rematerialize = graph::Rematerialize::kNothing}),
              3);
    EXPECT_NE(kept.losses.front(), kept.losses.back());
    for (const graph::Rematerialize what : {graph::Rematerialize::kCheap, graph::Rematerialize::kChains}) {
      const TrainedValues recomputed =
          train(graph::build_training_graph(forward(), {.optimizer = optimizer, .rematerialize = what}), 3);
      EXPECT_EQ(kept.losses, recomputed.losses);
      EXPECT_EQ(kept.parameters, recomputed.parameters);
    }
  }
}

TEST_P(Networks, PreparedGraphsFollowPlainOnes) {
  const TrainedValues plain = train(graph::build_training_graph(forward(), {}), 3);
  const TrainedValues prepared = train(graph::prepare_training_graph(forward(), {}), 3);
  EXPECT_THAT(prepared.losses, ::testing::Pointwise(::testing::FloatNear(1e-4F), plain.losses));
}

TEST_P(Networks, InBf16FollowThePlainOnesRoughly) {
  const TrainedValues plain = train(graph::build_training_graph(forward(), {}), 3);
  const TrainedValues rounded = train(graph::prepare_training_graph(forward(), {}, graph::Precision::kBF16), 3);
  EXPECT_NE(rounded.losses, plain.losses);
  EXPECT_THAT(rounded.losses, ::testing::Pointwise(::testing::FloatNear(0.05F), plain.losses));
}

INSTANTIATE_TEST_SUITE_P(Small, Networks, ::testing::ValuesIn(testing::small_networks()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace sluice::kernels
