// Gradients through every op that ONNX' tests of nodes know: the inputs are parameters, the outputs logits of a loss, and
// what autodiff makes of the importer's ops is compared with differences of the loss, on the reference backend.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "tests/onnx/node_exceptions.hpp"
#include "tests/onnx/node_gradients.hpp"

namespace sluice::tests {
namespace {

constexpr std::int64_t kMostLogits = 4096;
// At the edge of a function's domain, of 1 and of 0: beyond is no number to make a difference of; or where all the largest
// values are there twice.
const std::set<std::string> kAtAnEdge = {"test_acosh_example", "test_pow", "test_maxpool_3d_dilations",
                                         "test_maxpool_3d_dilations_use_ref_impl"};

// Ops for inference alone have no gradient: batch norms by running statistics.
bool only_infers(const graph::Graph& graph) {
  return std::ranges::any_of(graph.ops(),
                             [](const graph::Op& op) { return op.kind == graph::OpKind::kBatchNormApply; });
}

// Whether it was compared: differences of fp32 losses say nothing of small gradients. What is no number is an error, and
// so are zeros throughout: what is flat has no gradient.
bool check_gradient(LossOfOutput& loss, const std::string& weight, const std::string& gradient) {
  const std::vector<float>& found = loss.check().base().at(gradient);
  EXPECT_TRUE(std::ranges::none_of(found, [](float value) { return std::isnan(value); })) << weight << " has NaN";
  const bool zero = std::ranges::all_of(found, [](float value) { return value == 0; });
  EXPECT_FALSE(zero) << weight << " has no gradient but zeros";
  if (std::ranges::all_of(found, [](float value) { return std::abs(value) < 1e-3F; })) return false;
  loss.check().expect_gradient({"loss", "", weight, gradient}, 1e-2F, 3e-2, 3);
  return true;
}

// How many gradients were compared.
int check_gradients(const onnx::InferenceModel& model, const testing::NamedValues& weights) {
  const auto is_tensor = [](const onnx::ForwardOutput& output) { return output.tensor.has_value(); };
  const auto output = std::ranges::find_if(model.outputs, is_tensor);
  if (output == model.outputs.end() || model.graph.op_count() == 0 || only_infers(model.graph)) return 0;
  const std::int64_t logits = graph::element_count(model.graph.tensor(*output->tensor).shape);
  if (logits < 2 || logits > kMostLogits) return 0;
  LossOfOutput loss(model, *output->tensor, weights);
  if (!std::isfinite(loss.loss())) return 0;  // a test of what is no number
  int compared = 0;
  for (const auto& [name, values] : weights) {
    const std::optional<std::string> gradient = loss.gradient_name(name);
    if (gradient) compared += check_gradient(loss, name, *gradient) ? 1 : 0;
  }
  return compared;
}

TEST(OnnxNodeGradients, EqualDifferencesOfTheLoss) {
  const std::filesystem::path data = onnx_test_data();
  if (!std::filesystem::is_directory(data)) GTEST_SKIP() << "needs Debian's libonnx-testdata, at " << data;
  const ScratchFolder scratch;
  int compared = 0;
  for (const auto& folder : folders_in(data)) {
    const std::string name = folder.filename().string();
    if (node_test_exception(name) || kAtAnEdge.contains(name)) continue;
    const std::set<std::string> ops = ops_of_node_case(folder);
    const auto out = [](const std::string& op) {
      return ops_not_for_training().contains(op) || !onnx::supports_onnx_op(op);
    };
    if (std::ranges::any_of(ops, out)) continue;
    const auto model = import_node_of_weights(folder, scratch.path());
    if (!model.ok()) continue;
    SCOPED_TRACE(name);
    const auto weights = given_weights_of(*model);
    ASSERT_TRUE(weights.ok()) << weights.error().message;
    compared += check_gradients(*model, *weights);
  }
  std::cout << compared << " gradients compared\n";
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace sluice::tests
