#include "tests/onnx/node_gradients.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/graph/autodiff/autodiff.hpp"

namespace sluice::tests {
namespace {

graph::Graph with_loss(const onnx::InferenceModel& model, graph::TensorId output) {
  graph::Graph graph;
  graph.name = model.graph.name;
  graph.layers = model.graph.layers;
  for (const graph::Tensor& tensor : model.graph.tensors()) graph.add_tensor(tensor);
  const std::int64_t count = graph::element_count(graph.tensor(output).shape);
  const graph::TensorId labels = graph.add_tensor({.name = "labels",
                                                   .shape = {1},
                                                   .dtype = graph::DType::kI32,
                                                   .role = graph::Role::kInput,
                                                   .content = graph::Content::kLabels,
                                                   .bound = count});
  graph.add_op({.name = "labels#", .kind = graph::OpKind::kInput, .outputs = {labels}});
  for (const graph::Op& op : model.graph.ops()) graph.add_op(op);
  const graph::TensorId logits = graph.add_tensor({.name = "logits", .shape = {1, count}});
  graph.add_op({.name = "logits#",
                .kind = graph::OpKind::kReshape,
                .attributes = graph::ShapeAttributes{{1, count}},
                .inputs = {output},
                .outputs = {logits}});
  const graph::TensorId loss = graph.add_tensor({.name = "loss", .shape = {1}, .role = graph::Role::kOutput});
  const graph::TensorId probabilities = graph.add_tensor({.name = "probabilities", .shape = {1, count}});
  graph.add_op({.name = "loss#",
                .kind = graph::OpKind::kSoftmaxCrossEntropy,
                .inputs = {logits, labels},
                .outputs = {loss, probabilities}});
  return graph;
}

}  // namespace

Status LossOfOutput::NoInput::fill(std::int64_t /*batch*/, std::span<const std::span<std::byte>> tensors) {
  for (const auto& tensor : tensors) std::ranges::fill(tensor, std::byte{0});
  return {};
}

LossOfOutput::LossOfOutput(const onnx::InferenceModel& model, graph::TensorId output,
                           const testing::NamedValues& weights)
    : graph_(graph::build_training_graph(with_loss(model, output), {.rematerialize = graph::Rematerialize::kNothing})) {
  testing::NamedValues leaves = testing::leaf_values(graph_, 5);
  for (const auto& [name, values] : weights) leaves[name] = values;
  leaves.erase("labels");
  kernels::StepContext context;
  context.input = &input_;
  check_ = std::make_unique<testing::DifferenceCheck>(graph_, context, leaves);
}

std::optional<std::string> LossOfOutput::gradient_name(const std::string& parameter) const {
  for (const graph::Op& op : graph_.ops()) {
    if (op.kind == graph::OpKind::kSgdUpdate && graph_.tensor(op.inputs[0]).name == parameter) {
      return graph_.tensor(op.inputs[1]).name;
    }
  }
  return std::nullopt;
}

std::vector<float> gradient_of_weight(const std::filesystem::path& model, const std::string& weight) {
  const auto imported = onnx::import_forward(model);
  EXPECT_TRUE(imported.ok()) << imported.error().message;
  if (!imported.ok()) return {};
  const auto weights = given_weights_of(*imported);
  EXPECT_TRUE(weights.ok()) << weights.error().message;
  if (!weights.ok() || !imported->outputs.at(0).tensor) return {};
  LossOfOutput loss(*imported, *imported->outputs[0].tensor, *weights);
  const auto name = loss.gradient_name(weight);
  EXPECT_TRUE(name.has_value()) << "the loss does not depend on " << weight;
  return name ? loss.check().base().at(*name) : std::vector<float>{};
}

}  // namespace sluice::tests
