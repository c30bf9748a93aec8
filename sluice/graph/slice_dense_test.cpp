#include "sluice/graph/slice_dense.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "sluice/graph/autodiff.hpp"
#include "sluice/graph/builder.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/summary.hpp"
#include "sluice/graph/validate.hpp"

namespace sluice {
namespace {

constexpr Bytes kFeatureBytes = 256;  // of weights: fc1 has 100 features of 64 inputs

Graph network(bool residual = false) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 4, 4, 4);
  builder.begin_layer("conv1");
  x = builder.conv2d(x, {.out_channels = 4});
  builder.begin_layer("fc1");
  TensorId y = builder.relu(builder.dense(x, 100));
  if (residual) y = builder.add(y, builder.dense(x, 100));
  builder.begin_layer("fc2");
  builder.softmax_cross_entropy(builder.dense(y, 10));
  return std::move(builder.finish()).value();
}

std::vector<const Op*> ops_of(const Graph& graph, OpKind kind) {
  std::vector<const Op*> ops;
  for (const Op& op : graph.ops()) {
    if (op.kind == kind && op.attributes.out_end != 0) ops.push_back(&op);
  }
  return ops;
}

const Tensor* find(const Graph& graph, const std::string& name) {
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::map<Role, Bytes> persistent_bytes(const Graph& graph) {
  std::map<Role, Bytes> bytes;
  for (const auto& [role, size] : summarize(graph).bytes) {
    if (is_persistent(role) || role == Role::kGradient) bytes[role] = size;
  }
  return bytes;
}

TEST(SliceDense, CutsFeaturesInMultiplesOfSixteenWithinTheLimit) {
  const Graph graph = slice_dense(build_training_graph(network(), {}), 40 * kFeatureBytes);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const auto forward = ops_of(graph, OpKind::kDense);
  ASSERT_EQ(forward.size(), 4U);  // 40 features fit, so 32 a slice: 7 units of 16 in 4 slices
  std::int64_t next = 0;
  for (const Op* op : forward) {
    EXPECT_EQ(op->attributes.out_begin, next);
    next = op->attributes.out_end;
    EXPECT_TRUE(next % 16 == 0 || next == 100);
    EXPECT_LE(graph.tensor(op->inputs[1]).bytes, 40 * kFeatureBytes);
  }
  EXPECT_EQ(next, 100);
}

TEST(SliceDense, EverySliceButTheFirstAddsToWhatIsThere) {
  const Graph graph = slice_dense(build_training_graph(network(), {}), 40 * kFeatureBytes);
  for (const OpKind kind : {OpKind::kDense, OpKind::kDenseBackwardData}) {
    const auto ops = ops_of(graph, kind);
    ASSERT_EQ(ops.size(), 4U);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const std::size_t whole_inputs = kind == OpKind::kDense ? 3 : 2;
      EXPECT_EQ(ops[i]->attributes.partial, i > 0);
      EXPECT_EQ(ops[i]->inputs.size(), whole_inputs + (i > 0 ? 1 : 0));
      EXPECT_EQ(ops[i]->outputs, ops[0]->outputs) << "the output stays whole";
      EXPECT_EQ(ops[i]->inputs.back() == ops[i]->outputs[0], i > 0);
    }
  }
  for (const Op* op : ops_of(graph, OpKind::kDenseBackwardWeights)) EXPECT_FALSE(op->attributes.partial);
}

TEST(SliceDense, FinishesOneSliceBeforeTheNext) {
  const Graph whole = build_training_graph(network(), {});
  const Graph graph = slice_dense(whole, 40 * kFeatureBytes);
  std::vector<std::string> names;
  for (const Op& op : graph.ops()) {
    if (op.phase != Phase::kForward && op.name.find('[') != std::string::npos) names.push_back(op.name);
  }
  ASSERT_EQ(names.size(), 16U);
  EXPECT_EQ(names[0], "fc1.dense.dense_backward_data[0:16]");
  EXPECT_EQ(names[1], "fc1.dense.dense_backward_weights[0:16]");
  EXPECT_EQ(names[2], "fc1.weight.update[0:16]");
  EXPECT_EQ(names[3], "fc1.bias.update[0:16]");
  EXPECT_EQ(names[4], "fc1.dense.dense_backward_data[16:48]");
  const Liveness liveness = analyze_liveness(graph);
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (graph.tensor(id).role != Role::kGradient) continue;
    EXPECT_LE(liveness.ranges[static_cast<std::size_t>(id)].length(), 3) << graph.tensor(id).name;
  }
}

TEST(SliceDense, SlicesStartWithTheValuesOfTheWhole) {
  const Graph whole = build_training_graph(network(), {});
  const Graph graph = slice_dense(whole, 40 * kFeatureBytes);
  const Tensor* original = find(whole, "fc1.weight");
  const Tensor* slice = find(graph, "fc1.weight[16:48]");
  ASSERT_NE(slice, nullptr);
  EXPECT_EQ(slice->shape, (Shape{32, 64}));
  EXPECT_EQ(slice->init.kind, original->init.kind);
  EXPECT_EQ(slice->init.stream, original->init.stream);
  EXPECT_EQ(slice->init.stddev, original->init.stddev);
  EXPECT_EQ(slice->init.first_element, 16 * 64);
  for (const char* name : {"fc1.bias[16:48]", "fc1.bias.grad[16:48]", "fc1.bias.momentum[16:48]"}) {
    ASSERT_NE(find(graph, name), nullptr) << name;
    EXPECT_EQ(find(graph, name)->shape, (Shape{32}));
  }
  EXPECT_EQ(find(graph, "fc1.weight"), nullptr);
}

TEST(SliceDense, KeepsParametersBytesAndWork) {
  const Graph whole = build_training_graph(network(), {});
  const Graph graph = slice_dense(whole, 40 * kFeatureBytes);
  EXPECT_EQ(summarize(graph).parameters, summarize(whole).parameters);
  EXPECT_EQ(persistent_bytes(graph), persistent_bytes(whole));
  EXPECT_EQ(summarize(graph).flops, summarize(whole).flops);
}

TEST(SliceDense, LeavesSmallLayersAlone) {
  const Graph whole = build_training_graph(network(), {});
  EXPECT_EQ(slice_dense(whole).fingerprint(), whole.fingerprint());
  EXPECT_EQ(slice_dense(whole, 100 * kFeatureBytes).fingerprint(), whole.fingerprint());
  EXPECT_NE(slice_dense(whole, 100 * kFeatureBytes - 1).fingerprint(), whole.fingerprint());
}

TEST(SliceDense, CutsSingleFeaturesWhenSixteenDoNotFit) {
  const Graph graph = slice_dense(build_training_graph(network(), {}), 3 * kFeatureBytes);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(ops_of(graph, OpKind::kDense).size(), 34U + 10U);  // 100 by 3; fc2's of 400 bytes, one each
}

TEST(SliceDense, HandlesTwoLayersOnOneInputWithSummedGradients) {
  const Graph graph = slice_dense(build_training_graph(network(true), {}), 40 * kFeatureBytes);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(ops_of(graph, OpKind::kDenseBackwardData).size(), 8U);
  // The sum reads each layer's gradient only when all its slices have contributed.
  for (OpIndex i = 0; i < graph.op_count(); ++i) {
    if (graph.op(i).kind != OpKind::kAdd || graph.op(i).phase == Phase::kForward) continue;
    for (OpIndex later = i; later < graph.op_count(); ++later) {
      EXPECT_EQ(std::count(graph.op(later).outputs.begin(), graph.op(later).outputs.end(), graph.op(i).inputs[1]), 0);
    }
  }
}

TEST(SliceDense, SlicesAForwardGraphToo) {
  const Graph graph = slice_dense(network(), 40 * kFeatureBytes);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  EXPECT_EQ(ops_of(graph, OpKind::kDense).size(), 4U);
}

}  // namespace
}  // namespace sluice
