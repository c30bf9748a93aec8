// Gradients through every op that ONNX' tests of nodes know: the inputs are parameters, the outputs logits of a loss, and
// what autodiff makes of the importer's ops is compared with differences of the loss, on the reference backend.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/testing/difference_check.hpp"
#include "tests/onnx/node_case.hpp"
#include "tests/onnx/node_exceptions.hpp"

namespace sluice {
namespace {

constexpr std::int64_t kMostLogits = 4096;
// At the edge of a function's domain, of 1 and of 0: beyond is no number to make a difference of.
const std::set<std::string> kAtAnEdge = {"test_acosh_example", "test_pow"};

class NoInput : public InputSource {
 public:
  Status fill(std::int64_t /*batch*/, std::span<const std::span<std::byte>> tensors) override {
    for (const auto& tensor : tensors) std::ranges::fill(tensor, std::byte{0});
    return {};
  }
};

// The model's ops behind an input op with one label, and in front of a loss of the output's elements.
Graph with_loss(const InferenceModel& model, TensorId output) {
  Graph graph;
  graph.name = model.graph.name;
  graph.layers = model.graph.layers;
  for (const Tensor& tensor : model.graph.tensors()) graph.add_tensor(tensor);
  const std::int64_t count = element_count(graph.tensor(output).shape);
  const TensorId labels = graph.add_tensor({.name = "labels",
                                            .shape = {1},
                                            .dtype = DType::kI32,
                                            .role = Role::kInput,
                                            .content = Content::kLabels,
                                            .bound = count});
  graph.add_op({.name = "labels#", .kind = OpKind::kInput, .outputs = {labels}});
  for (const Op& op : model.graph.ops()) graph.add_op(op);
  const TensorId logits = graph.add_tensor({.name = "logits", .shape = {1, count}});
  graph.add_op({.name = "logits#",
                .kind = OpKind::kReshape,
                .attributes = {.shape = {1, count}},
                .inputs = {output},
                .outputs = {logits}});
  const TensorId loss = graph.add_tensor({.name = "loss", .shape = {1}, .role = Role::kOutput});
  const TensorId probabilities = graph.add_tensor({.name = "probabilities", .shape = {1, count}});
  graph.add_op({.name = "loss#",
                .kind = OpKind::kSoftmaxCrossEntropy,
                .inputs = {logits, labels},
                .outputs = {loss, probabilities}});
  return graph;
}

// The gradient that a parameter's update reads.
std::optional<std::string> gradient_of(const Graph& graph, const std::string& parameter) {
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::kSgdUpdate && graph.tensor(op.inputs[0]).name == parameter) {
      return graph.tensor(op.inputs[1]).name;
    }
  }
  return std::nullopt;
}

// Ops for inference alone have no gradient: batch norms by running statistics.
bool only_infers(const Graph& graph) {
  return std::ranges::any_of(graph.ops(), [](const Op& op) { return op.kind == OpKind::kBatchNormApply; });
}

// How many gradients were compared.
int check_gradients(const InferenceModel& model, const NamedValues& weights) {
  const auto is_tensor = [](const ForwardOutput& output) { return output.tensor.has_value(); };
  const auto output = std::ranges::find_if(model.outputs, is_tensor);
  if (output == model.outputs.end() || model.graph.op_count() == 0 || only_infers(model.graph)) return 0;
  const std::int64_t logits = element_count(model.graph.tensor(*output->tensor).shape);
  if (logits < 2 || logits > kMostLogits) return 0;
  const Graph graph = build_training_graph(with_loss(model, *output->tensor), {.recompute_cheap = false});
  NamedValues leaves = leaf_values(graph, 5);
  for (const auto& [name, values] : weights) leaves[name] = values;
  leaves.erase("labels");
  NoInput input;
  StepContext context;
  context.input = &input;
  DifferenceCheck check(graph, context, leaves);
  if (!std::isfinite(check.base().at("loss")[0])) return 0;  // a test of what is no number
  int compared = 0;
  for (const auto& [name, values] : weights) {
    const std::optional<std::string> gradient = gradient_of(graph, name);
    if (!gradient) continue;
    const auto& found = check.base().at(*gradient);
    const auto small = [](float value) { return !(std::abs(value) >= 1e-3F); };
    if (std::ranges::all_of(found, small)) continue;  // differences of fp32 losses say nothing
    check.expect_gradient({"loss", "", name, *gradient}, 1e-2F, 3e-2, 3);
    ++compared;
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
    if (node_test_exceptions().contains(name) || kAtAnEdge.contains(name)) continue;
    const std::set<std::string> ops = ops_of_node_case(folder);
    const auto out = [](const std::string& op) { return ops_not_for_training().contains(op) || !supports_onnx_op(op); };
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
}  // namespace sluice
