#include "sluice/graph/in_place.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"

namespace sluice::graph {
namespace {

// A stand-in for running a graph: an op makes each output from its index and the values it reads, in operand order.
// Any clobbered tensor changes what a later op reads.
struct Run {
  std::vector<std::vector<std::uint64_t>> reads;  // by OpIndex
  std::vector<std::uint64_t> values;              // by TensorId, after the step
};

Run interpret(const Graph& graph, const std::vector<std::uint64_t>& initial) {
  Run run{{}, initial};
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    const Op& op = graph.op(index);
    std::vector<std::uint64_t>& read = run.reads.emplace_back();
    std::uint64_t mixed = static_cast<std::uint64_t>(index);
    for (const TensorId id : op.inputs) {
      read.push_back(run.values[as_index(id)]);
      mixed = mix64(mixed * 31 + read.back());
    }
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      run.values[as_index(op.outputs[o])] = mix64(mixed + o);
    }
  }
  return run;
}

// Merges and checks that every op reads the same values as before. Returns how many tensors the merge saved.
TensorId merge_and_compare(const Graph& before) {
  Graph after = before;
  const std::vector<TensorId> new_id = merge_in_place(after);
  std::vector<std::uint64_t> initial(before.tensors().size());
  std::vector<std::uint64_t> merged_initial(after.tensors().size());
  for (std::size_t id = 0; id < initial.size(); ++id) {
    if (!is_persistent(before.tensors()[id].role)) continue;
    initial[id] = mix64(id + 1);
    merged_initial[as_index(new_id[id])] = initial[id];
  }
  const Run expected = interpret(before, initial);
  const Run got = interpret(after, merged_initial);
  EXPECT_EQ(got.reads, expected.reads);
  for (std::size_t id = 0; id < initial.size(); ++id) {
    const Role role = before.tensors()[id].role;
    if (!is_persistent(role) && role != Role::kOutput) continue;
    EXPECT_EQ(got.values[as_index(new_id[id])], expected.values[id]) << before.tensors()[id].name;
  }
  return before.tensor_count() - after.tensor_count();
}

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : seed_(seed) {}

  Graph make() {
    graph_.layers = {"all"};
    for (const Role role : {Role::kParameter, Role::kBuffer, Role::kInput, Role::kActivation}) {
      known_.push_back(add_tensor(role));
      if (is_persistent(role)) continue;
      Op source;
      source.outputs = {known_.back()};
      graph_.add_op(source);
    }
    for (int i = 0; i < 40; ++i) add_random_op();
    set_in_place_candidates(graph_);
    return graph_;
  }

 private:
  std::uint64_t pick(std::uint64_t count) { return random_bits(seed_, 0, draws_++) % count; }

  TensorId add_tensor(Role role) {
    Tensor tensor;
    tensor.shape = {4};
    tensor.role = role;
    if (pick(8) == 0) tensor.layout = "blocked";
    if (pick(8) == 0) tensor.bytes = 64;
    return graph_.add_tensor(tensor);
  }

  // A recent tensor more often than an old one, as in real graphs; so inputs may coincide, too.
  TensorId any_known() { return known_[known_.size() - 1 - pick(1 + pick(known_.size()))]; }

  void add_random_op() {
    static constexpr std::array kKinds = {OpKind::kRelu,   OpKind::kAdd,
                                          OpKind::kConv2d, OpKind::kReluBackward,
                                          OpKind::kAdd,    OpKind::kBatchNormBackward,
                                          OpKind::kRelu,   OpKind::kSoftmaxCrossEntropyBackward};
    Op op;
    op.kind = kKinds.at(pick(kKinds.size()));
    const int inputs = op.kind == OpKind::kRelu ? 1 : op.kind == OpKind::kBatchNormBackward ? 4 : 2;
    for (int i = 0; i < inputs; ++i) op.inputs.push_back(any_known());
    op.outputs = {add_tensor(pick(10) == 0 ? Role::kOutput : Role::kActivation)};
    if (op.kind == OpKind::kBatchNormBackward) op.outputs.push_back(add_tensor(Role::kGradient));
    if (op.kind == OpKind::kConv2d && pick(2) == 0) op.outputs.push_back(op.inputs[0]);  // updates its input
    known_.insert(known_.end(), op.outputs.begin(), op.outputs.end());
    graph_.add_op(op);
  }

  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  Graph graph_;
  std::vector<TensorId> known_;
};

TEST(InPlace, NeverClobbersAValueOnRandomGraphs) {
  int saved = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    saved += merge_and_compare(RandomGraph(seed).make());
    if (HasFailure()) return;
  }
  EXPECT_GT(saved, 1000) << "the random graphs should give something to merge";
}

Graph residual_training_graph() {
  GraphBuilder builder("residual");
  builder.begin_layer("input");
  TensorId x = builder.input(2, 4, 8, 8, 10);
  builder.begin_layer("stem");
  x = builder.relu(builder.conv2d(x, {.out_channels = 4, .bias = true}));
  for (const char* layer : {"block1", "block2"}) {
    builder.begin_layer(layer);
    x = builder.add(builder.batch_norm(builder.conv2d(x, {.out_channels = 4})), x, Activation::kRelu);
  }
  builder.begin_layer("fc");
  builder.softmax_cross_entropy(builder.dense(x, 10));
  return build_training_graph(std::move(builder.finish()).value(), {});
}

bool in_place(const Op& op) {
  return std::any_of(op.in_place.begin(), op.in_place.end(), [&](const InPlace& pair) {
    return op.inputs[as_index(pair.input)] == op.outputs[as_index(pair.output)];
  });
}

TEST(InPlace, MergesReluAndResidualAddForwardAndBackward) {
  const Graph before = residual_training_graph();
  EXPECT_GT(merge_and_compare(before), 0);
  Graph graph = before;
  merge_in_place(graph);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  std::map<OpKind, std::pair<int, int>> merged;  // in place, of how many
  for (const Op& op : graph.ops()) {
    if (op.in_place.empty()) continue;
    ++merged[op.kind].second;
    if (in_place(op)) ++merged[op.kind].first;
  }
  EXPECT_EQ(merged[OpKind::kRelu], std::pair(1, 1));
  EXPECT_EQ(merged[OpKind::kReluBackward], std::pair(3, 3));
  EXPECT_EQ(merged[OpKind::kAdd], std::pair(4, 4));  // two forward; two that sum gradients
  EXPECT_EQ(merged[OpKind::kSoftmaxCrossEntropyBackward], std::pair(1, 1));
  // dy of the norm is the residual gradient, which the sum of gradients needs later.
  EXPECT_EQ(merged[OpKind::kBatchNormBackward], std::pair(0, 2));
}

Graph attention_training_graph() {
  GraphBuilder builder("attention");
  builder.begin_layer("input");
  const auto data =
      builder.inputs({{"tokens", Content::kTokens, {2, 5}, 7}, {"next", Content::kNextTokens, {2, 5}, 7}});
  builder.begin_layer("attention");
  const TensorId x = builder.layer_norm(builder.embedding(data[0], 7, 8));
  const TensorId scores = builder.matmul(builder.dense(x, 5), builder.dense(x, 5));
  TensorId y = builder.matmul(builder.dropout(builder.softmax(scores, 0.5F), 0.1F), builder.dense(x, 8));
  y = builder.gelu(builder.dense(y, 8));
  builder.begin_layer("head");
  builder.softmax_cross_entropy(builder.dense(y, 7));
  return build_training_graph(std::move(builder.finish()).value(), {});
}

TEST(InPlace, MergesWhatAttentionNeedsNoLonger) {
  const Graph before = attention_training_graph();
  EXPECT_GT(merge_and_compare(before), 0);
  Graph graph = before;
  merge_in_place(graph);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  std::map<std::pair<OpKind, Phase>, bool> merged;
  for (const Op& op : graph.ops()) merged[{op.kind, op.phase}] = in_place(op);
  EXPECT_TRUE((merged[{OpKind::kSoftmax, Phase::kForward}])) << "scores die here";
  EXPECT_TRUE((merged[{OpKind::kSoftmaxCrossEntropy, Phase::kForward}]));
  EXPECT_TRUE((merged[{OpKind::kSoftmaxBackward, Phase::kBackward}]));
  EXPECT_TRUE((merged[{OpKind::kUnaryBackward, Phase::kBackward}]));
  EXPECT_TRUE((merged[{OpKind::kLayerNormBackward, Phase::kBackward}]));
  EXPECT_FALSE((merged[{OpKind::kDropout, Phase::kForward}])) << "the softmax's gradient needs its probabilities";
  EXPECT_FALSE((merged[{OpKind::kUnary, Phase::kForward}])) << "GELU's gradient needs its input";
}

TEST(InPlace, KeepsOpsAndOperandPositionsAndMapsEveryTensor) {
  const Graph before = residual_training_graph();
  Graph after = before;
  const std::vector<TensorId> new_id = merge_in_place(after);
  ASSERT_EQ(after.op_count(), before.op_count());
  std::vector<bool> used(after.tensors().size());
  for (OpIndex i = 0; i < before.op_count(); ++i) {
    const auto expect_mapped = [&](const std::vector<TensorId>& old_ids, const std::vector<TensorId>& ids) {
      ASSERT_EQ(ids.size(), old_ids.size());
      for (std::size_t o = 0; o < ids.size(); ++o) {
        EXPECT_EQ(ids[o], new_id[as_index(old_ids[o])]);
        used[as_index(ids[o])] = true;
      }
    };
    EXPECT_EQ(after.op(i).name, before.op(i).name);
    expect_mapped(before.op(i).inputs, after.op(i).inputs);
    expect_mapped(before.op(i).outputs, after.op(i).outputs);
  }
  EXPECT_EQ(std::count(used.begin(), used.end(), false), 0) << "merged tensors leave nothing behind";
}

TEST(InPlace, IsFinishedAfterOneRun) {
  Graph once = residual_training_graph();
  merge_in_place(once);
  Graph twice = once;
  merge_in_place(twice);
  EXPECT_EQ(twice.fingerprint(), once.fingerprint());
}

// x -> relu -> y; then whatever the case forbids.
struct Forbidden {
  std::string name;
  void (*change)(Graph&);
};

class InPlaceForbidden : public testing::TestWithParam<Forbidden> {};

TEST_P(InPlaceForbidden, StaysOutOfPlace) {
  Graph graph;
  graph.layers = {"all"};
  Tensor tensor;
  tensor.shape = {2, 8};
  const TensorId x = graph.add_tensor(tensor);
  const TensorId y = graph.add_tensor(tensor);
  Op make;
  make.outputs = {x};
  graph.add_op(make);
  Op relu;
  relu.kind = OpKind::kRelu;
  relu.inputs = {x};
  relu.outputs = {y};
  graph.add_op(relu);
  set_in_place_candidates(graph);
  Graph allowed = graph;
  merge_in_place(allowed);
  ASSERT_EQ(allowed.tensor_count(), 1) << "without the change it is in place";

  GetParam().change(graph);
  merge_in_place(graph);
  EXPECT_EQ(graph.tensor_count(), 2);
  EXPECT_NE(graph.op(1).inputs[0], graph.op(1).outputs[0]);
}

void read_again(Graph& graph) {
  Op reader;
  reader.kind = OpKind::kSgdUpdate;
  reader.inputs = {0};
  graph.add_op(reader);
}

INSTANTIATE_TEST_SUITE_P(
    All, InPlaceForbidden,
    testing::Values(Forbidden{"ReadLater", read_again},
                    Forbidden{"Parameter", [](Graph& g) { g.tensor(0).role = Role::kParameter; }},
                    Forbidden{"StepInput", [](Graph& g) { g.tensor(0).role = Role::kInput; }},
                    Forbidden{"InputIsOutputOfStep", [](Graph& g) { g.tensor(0).role = Role::kOutput; }},
                    Forbidden{"OutputOfStep", [](Graph& g) { g.tensor(1).role = Role::kOutput; }},
                    Forbidden{"OtherLayout", [](Graph& g) { g.tensor(1).layout = "blocked"; }},
                    Forbidden{"OtherBytes", [](Graph& g) { g.tensor(1).bytes = 128; }},
                    Forbidden{"OtherType", [](Graph& g) { g.tensor(1).dtype = DType::kI32; }},
                    Forbidden{"OtherShape",
                              [](Graph& g) {
                                g.tensor(1).shape = {8, 2};
                              }},
                    Forbidden{"TargetWrittenBefore", [](Graph& g) { g.op(0).outputs.push_back(1); }},
                    Forbidden{"InputReadTwice", [](Graph& g) { g.op(1).inputs.push_back(0); }},
                    Forbidden{"InputUpdatedToo", [](Graph& g) { g.op(1).outputs.push_back(0); }},
                    Forbidden{"NoCandidate", [](Graph& g) { g.op(1).in_place.clear(); }}),
    [](const auto& test_case) { return test_case.param.name; });

}  // namespace
}  // namespace sluice::graph
