// The reference backend's gradients against differences of its outputs, op by op and through whole training graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sluice/graph/autodiff.hpp"
#include "sluice/graph/builder.hpp"
#include "sluice/testing/op_cases.hpp"
#include "sluice/testing/wave_input.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t kSeed = 77;

// sum(output * weights), in double; no weights stand for ones.
double weighted_sum(const std::vector<float>& output, const std::vector<float>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < output.size(); ++i) sum += double{output[i]} * (weights.empty() ? 1.0 : weights[i]);
  return sum;
}

// The `count` elements of largest magnitude: where a difference of fp32 outputs has the most digits.
std::vector<std::size_t> largest_elements(const std::vector<float>& values, std::size_t count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(values[a]) > std::abs(values[b]); });
  order.resize(std::min(count, order.size()));
  return order;
}

class DifferenceCheck {
 public:
  DifferenceCheck(const Graph& logical, StepContext context, NamedValues leaves)
      : logical_(logical),
        context_(context),
        leaves_(std::move(leaves)),
        compiled_(make_reference_backend()->compile(logical, 1).value()),
        runner_(*compiled_),
        base_(run_case(logical_, runner_, leaves_, context_)) {}

  const NamedValues& base() const { return base_; }

  void expect_gradient(const GradientClaim& claim, float step, double tolerance, std::size_t elements) {
    SCOPED_TRACE(claim.input_gradient);
    const std::vector<float>& gradient = base_.at(claim.input_gradient);
    const double scale = std::abs(gradient[largest_elements(gradient, 1).at(0)]);
    ASSERT_GT(scale, 0) << "a gradient of zeros proves nothing";
    for (const std::size_t i : largest_elements(gradient, elements))
      EXPECT_NEAR(gradient[i], difference(claim, i, step), tolerance * scale) << "element " << i;
  }

 private:
  double difference(const GradientClaim& claim, std::size_t element, float step) {
    return (output_at(claim, element, step) - output_at(claim, element, -step)) / (2.0 * step);
  }

  double output_at(const GradientClaim& claim, std::size_t element, float change) {
    NamedValues moved = leaves_;
    moved.at(claim.input)[element] += change;
    const NamedValues values = run_case(logical_, runner_, moved, context_);
    return weighted_sum(values.at(claim.output),
                        claim.output_gradient.empty() ? std::vector<float>{} : leaves_.at(claim.output_gradient));
  }

  const Graph& logical_;
  StepContext context_;
  NamedValues leaves_;
  std::unique_ptr<CompiledGraph> compiled_;
  GraphRunner runner_;
  NamedValues base_;
};

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
