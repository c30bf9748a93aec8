// The reference backend's gradients against differences of its outputs, op by op and through whole training graphs.
#include <gtest/gtest.h>

#include "sluice/graph/autodiff.hpp"
#include "sluice/graph/builder.hpp"
#include "sluice/testing/difference_check.hpp"
#include "sluice/testing/wave_input.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t kSeed = 77;

class ReferenceGradients : public ::testing::TestWithParam<OpCase> {};

TEST_P(ReferenceGradients, EqualDifferencesOfTheOutput) {
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  const OpCase& tested = GetParam();
  DifferenceCheck check(tested.graph, {}, leaf_values(tested.graph, kSeed));
  for (const GradientClaim& claim : tested.gradients) check.expect_gradient(claim, 2e-3F, 1e-2, 6);
}

std::vector<OpCase> cases_with_gradients() {
  std::vector<OpCase> cases = op_cases();
  std::erase_if(cases, [](const OpCase& tested) { return tested.gradients.empty(); });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, ReferenceGradients, ::testing::ValuesIn(cases_with_gradients()),
                         [](const auto& tested) { return test_name(tested.param); });

// Residual block with fused and plain ReLU, both poolings, biases, and tensors with several consumers.
Result<Graph> residual_network() {
  GraphBuilder builder("residual");
  builder.begin_layer("input");
  TensorId x = builder.input(4, 3, 8, 8, 5);
  builder.begin_layer("stem");
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 6, .kernel = 3, .padding = 1}), Activation::kRelu);
  x = builder.max_pool(x, {});
  builder.begin_layer("block");
  TensorId y = builder.relu(builder.batch_norm(builder.conv2d(x, {.out_channels = 6, .kernel = 3, .padding = 1})));
  y = builder.conv2d(y, {.out_channels = 6, .kernel = 1, .bias = true});
  x = builder.add(y, x, Activation::kRelu);
  builder.begin_layer("head");
  builder.softmax_cross_entropy(builder.dense(builder.global_avg_pool(x), 5));
  return builder.finish();
}

std::string loss_name(const Graph& graph) {
  for (const Tensor& tensor : graph.tensors())
    if (tensor.role == Role::kOutput) return tensor.name;
  return {};
}

TEST(ReferenceGradients, OfAWholeTrainingGraphEqualDifferencesOfTheLoss) {
  const auto forward = residual_network();
  ASSERT_TRUE(forward.ok()) << forward.error().message;
  const Graph training = build_training_graph(*forward, {});
  testing::WaveInput input(training);
  const StepContext context{.learning_rate = 0.1F, .input = &input};
  DifferenceCheck check(training, context, leaf_values(training, kSeed));
  int checked = 0;
  for (const Op& op : training.ops()) {
    if (op.kind != OpKind::kSgdUpdate) continue;
    check.expect_gradient(
        {loss_name(training), "", training.tensor(op.inputs[0]).name, training.tensor(op.inputs[1]).name}, 2e-3F, 2e-2,
        4);
    ++checked;
  }
  EXPECT_EQ(checked, 8);  // three convolutions, one bias, two norms, dense weight and bias
}

}  // namespace
}  // namespace sluice
