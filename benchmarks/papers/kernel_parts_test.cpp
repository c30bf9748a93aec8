#include "benchmarks/papers/kernel_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/rewrite/fold.hpp"
#include "sluice/models/model.hpp"

namespace sluice::benchmarks::autotm {
namespace {

std::vector<graph::TensorId> tensors_of(const std::vector<PartOperand>& operands) {
  std::vector<graph::TensorId> ids;
  for (const PartOperand& each : operands) ids.push_back(each.tensor);
  return ids;
}

std::vector<std::string_view> names_of(const std::vector<KernelPart>& parts) {
  std::vector<std::string_view> names;
  for (const KernelPart& part : parts) names.push_back(part.ops.front());
  return names;
}

class KernelParts : public ::testing::Test {
 protected:
  KernelParts() {
    const graph::Graph forward = models::build_model("resnet20", {.batch = 2}).value();
    graph_ = graph::build_training_graph(graph::fold(forward), {.rematerialize = graph::Rematerialize::kNothing});
  }

  const graph::Op& first(graph::OpKind kind, graph::Activation activation = graph::Activation::kNone,
                         std::size_t inputs = 0) const {
    return *std::ranges::find_if(graph_.ops(), [&](const graph::Op& op) {
      return op.kind == kind && graph::fused_activation(op.attributes) == activation &&
             (inputs == 0 || op.inputs.size() == inputs);
    });
  }

  graph::Graph graph_;
};

TEST_F(KernelParts, OperandsAreInNGraphsOrder) {
  const graph::Op& data = first(graph::OpKind::kConv2dBackwardData);
  const KernelPart part = parts_of(graph_, data).at(0);
  EXPECT_EQ(part.ops.front(), "ConvolutionBackpropData");
  EXPECT_EQ(tensors_of(part.inputs), (std::vector<graph::TensorId>{data.inputs[1], data.inputs[0]}));
  EXPECT_EQ(tensors_of(part.outputs), data.outputs);
}

TEST_F(KernelParts, WhatNGraphHasBesidesIsInside) {
  const graph::Op& convolution = first(graph::OpKind::kConv2d);
  const KernelPart part = parts_of(graph_, convolution).at(0);
  ASSERT_EQ(part.inputs.size(), 3U);
  EXPECT_EQ(part.inputs.back().tensor, kInside);  // the bias
  EXPECT_EQ(part.inputs.back().shape, graph::Shape{graph_.tensor(convolution.inputs[1]).shape[0]});
  const KernelPart weights = parts_of(graph_, first(graph::OpKind::kConv2dBackwardWeights)).at(0);
  ASSERT_EQ(weights.outputs.size(), 2U);
  EXPECT_EQ(weights.outputs.back().tensor, kInside);
}

TEST_F(KernelParts, ABatchNormsRowsAreTwoOperandsOfOneTensor) {
  const graph::Op& norm = first(graph::OpKind::kBatchNorm, graph::Activation::kRelu, 3);
  const std::vector<KernelPart> parts = parts_of(graph_, norm);
  ASSERT_EQ(names_of(parts), std::vector<std::string_view>{"BatchNormTrainingRelu"});
  EXPECT_EQ(tensors_of(parts[0].inputs),
            (std::vector<graph::TensorId>{norm.inputs[1], norm.inputs[1], norm.inputs[0]}));
  EXPECT_EQ(parts[0].inputs[0].shape, graph::Shape{graph_.tensor(norm.inputs[1]).shape[1]});
  EXPECT_EQ(tensors_of(parts[0].outputs),
            (std::vector<graph::TensorId>{norm.outputs[0], norm.outputs[1], norm.outputs[1]}));
}

TEST_F(KernelParts, FusedOpsAreSeveralKernels) {
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(names_of(parts_of(graph_, first(graph::OpKind::kBatchNorm, graph::Activation::kRelu, 4))),
            (Names{"BatchNormTraining", "Add", "Relu"}));
  EXPECT_EQ(names_of(parts_of(graph_, first(graph::OpKind::kBatchNormBackward, graph::Activation::kRelu))),
            (Names{"ReluBackprop", "BatchNormTrainingBackprop"}));
  EXPECT_EQ(names_of(parts_of(graph_, first(graph::OpKind::kSgdUpdate))), (Names{"Add", "Add"}));
}

TEST_F(KernelParts, OpsThatNGraphHasNotHaveNone) {
  EXPECT_TRUE(parts_of(graph_, first(graph::OpKind::kInput)).empty());
}

}  // namespace
}  // namespace sluice::benchmarks::autotm
