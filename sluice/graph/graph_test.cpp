#include "sluice/graph/graph.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "sluice/graph/builder/builder.hpp"

namespace sluice::graph {
namespace {

Graph tiny_graph() {
  GraphBuilder builder("tiny");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 3, 8, 8, 10);
  builder.begin_layer("conv1");
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 4, .kernel = 3, .padding = 1}), Activation::kRelu);
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  return std::move(builder.finish()).value();
}

TEST(Graph, SizesATensorFromItsShapeUnlessTold) {
  Graph graph;
  Tensor tensor;
  tensor.shape = {2, 3};
  EXPECT_EQ(graph.tensor(graph.add_tensor(tensor)).bytes, 24);
  tensor.dtype = DType::kU8;
  EXPECT_EQ(graph.tensor(graph.add_tensor(tensor)).bytes, 6);
  tensor.bytes = 64;
  EXPECT_EQ(graph.tensor(graph.add_tensor(tensor)).bytes, 64);
}

TEST(Graph, RefusesAnOpOnATensorItDoesNotHave) {
  Graph graph;
  Op op;
  op.inputs = {0};
  EXPECT_THROW(graph.add_op(op), std::logic_error);
}

TEST(GraphFingerprint, IsEqualForEqualGraphsAndBlindToNames) {
  const Graph graph = tiny_graph();
  Graph renamed = tiny_graph();
  renamed.name = "other";
  renamed.tensor(3).name = "other";
  renamed.op(1).name = "other";
  EXPECT_EQ(graph.fingerprint(), renamed.fingerprint());
  EXPECT_EQ(graph.fingerprint().size(), 32U);
}

TEST(GraphFingerprint, ChangesWithEverythingAPlanDependsOn) {
  const std::vector<std::function<void(Graph&)>> changes = {
      [](Graph& g) { g.op(1).kind = OpKind::kReorder; },
      [](Graph& g) { g.op(1).as<ConvolutionAttributes>().window.stride_h = 2; },
      [](Graph& g) { g.op(2).as<NormAttributes>().epsilon = 1; },
      [](Graph& g) { fuse_activation(g.op(1).attributes, Activation::kRelu); },
      [](Graph& g) { g.op(1).layer = 0; },
      [](Graph& g) { g.op(1).phase = Phase::kBackward; },
      [](Graph& g) {
        g.op(1).implementations = {{"direct", 0}};
      },
      [](Graph& g) {
        g.op(1).implementations = {{"direct", 64}};
      },
      [](Graph& g) { std::swap(g.op(1).inputs[0], g.op(1).inputs[1]); },
      [](Graph& g) { g.op(1).inputs.push_back(g.op(1).outputs[0]); },
      [](Graph& g) { g.tensor(0).bytes += 64; },
      [](Graph& g) { g.tensor(0).layout = "blocked"; },
      [](Graph& g) {
        g.tensor(0).shape = {2, 3, 64};
      },
      [](Graph& g) { g.tensor(0).dtype = DType::kI32; },
      [](Graph& g) { g.tensor(0).role = Role::kParameter; },
  };
  std::set<std::string> fingerprints = {tiny_graph().fingerprint()};
  for (const auto& change : changes) {
    Graph graph = tiny_graph();
    change(graph);
    fingerprints.insert(graph.fingerprint());
  }
  EXPECT_EQ(fingerprints.size(), changes.size() + 1);
}

TEST(OpSignature, SaysWhatTheKernelDependsOn) {
  const Graph graph = tiny_graph();
  const std::string signature = op_signature(graph, graph.op(1));
  for (const char* part :
       {"conv2d ", "k3x3", "p1,1,1,1", "f32[2,3,8,8]plain", "f32[4,3,3,3]plain", "-> f32[2,4,8,8]plain"}) {
    EXPECT_NE(signature.find(part), std::string::npos) << part << " in " << signature;
  }
}

TEST(OpSignature, IgnoresNamesLayersAndTensorIdsOnly) {
  Graph graph = tiny_graph();
  const std::string signature = op_signature(graph, graph.op(1));
  graph.op(1).name = "other";
  graph.op(1).layer = 0;
  const TensorId copy = graph.add_tensor(graph.tensor(graph.op(1).inputs[0]));
  graph.op(1).inputs[0] = copy;
  EXPECT_EQ(op_signature(graph, graph.op(1)), signature);
  graph.tensor(copy).layout = "nChw16c";
  EXPECT_NE(op_signature(graph, graph.op(1)), signature);
}

TEST(OpSignature, TellsInPlaceFromOutOfPlace) {
  Graph graph;
  Tensor tensor;
  tensor.shape = {4};
  Op op;
  op.kind = OpKind::kRelu;
  op.inputs = {graph.add_tensor(tensor)};
  op.outputs = {graph.add_tensor(tensor)};
  const std::string out_of_place = op_signature(graph, op);
  op.outputs = op.inputs;
  EXPECT_NE(op_signature(graph, op), out_of_place);
}

TEST(Names, AreWords) {
  EXPECT_EQ(to_string(OpKind::kConv2dBackwardData), "conv2d_backward_data");
  EXPECT_EQ(to_string(OpKind::kSgdUpdate), "sgd_update");
  EXPECT_EQ(to_string(UnaryFunction::kGeluTanh), "gelu_tanh");
  EXPECT_EQ(to_string(Role::kOptimizerState), "optimizer_state");
  EXPECT_EQ(to_string(Role::kOutput), "output");
  EXPECT_EQ(to_string(Phase::kUpdate), "update");
  EXPECT_EQ(to_string(DType::kU8), "u8");
  EXPECT_EQ(to_string(Shape{16, 3, 224, 224}), "[16, 3, 224, 224]");
}

}  // namespace
}  // namespace sluice::graph
