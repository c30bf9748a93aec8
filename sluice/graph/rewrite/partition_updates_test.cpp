#include "sluice/graph/rewrite/partition_updates.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/models/model.hpp"

namespace sluice::graph {
namespace {

Graph step_of_ranks(const OptimizerOptions& optimizer, Precision precision = Precision::kF32) {
  const Graph forward =
      models::build_model("gpt2_small", {.batch = 1, .classes = 50, .sequence = 8, .width = 64, .depth = 1}).value();
  return prepare_training_graph(forward, optimizer, precision);
}

// Of what the optimizer keeps.
Bytes state_bytes(const Graph& graph) {
  Bytes bytes = 0;
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.role == Role::kOptimizerState) bytes += element_count(tensor.shape) * size_of(tensor.dtype);
  }
  return bytes;
}

TEST(PartitionUpdates, EveryUpdateIsOfAPartThatGoesBackToAllRanks) {
  for (const Precision precision : {Precision::kF32, Precision::kBF16Masters}) {
    const Graph graph = step_of_ranks({.optimizer = Optimizer::kAdam, .ranks = 3}, precision);
    ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
    EXPECT_EQ(ranks_of(graph), 3);
    const auto count = [&](OpKind kind) { return std::ranges::count(graph.ops(), kind, &Op::kind); };
    EXPECT_GT(count(OpKind::kAdamUpdate), 0);
    EXPECT_EQ(count(OpKind::kReduceScatter), count(OpKind::kAdamUpdate));
    EXPECT_EQ(count(OpKind::kAllGather), count(OpKind::kAdamUpdate));
    for (const Op& op : graph.ops()) {
      if (!is_update(op.kind)) continue;
      for (const TensorId id : op.inputs) EXPECT_EQ(graph.tensor(id).shape.size(), 1U) << graph.tensor(id).name;
    }
  }
}

TEST(PartitionUpdates, ARankKeepsItsPartOfTheStateAlone) {
  const Graph one = step_of_ranks({.optimizer = Optimizer::kAdam}, Precision::kBF16Masters);
  for (const int ranks : {2, 4}) {
    const Graph parted = step_of_ranks({.optimizer = Optimizer::kAdam, .ranks = ranks}, Precision::kBF16Masters);
    EXPECT_NEAR(static_cast<double>(state_bytes(parted)), static_cast<double>(state_bytes(one)) / ranks,
                0.001 * static_cast<double>(state_bytes(one)));
  }
}

// What a checkpoint lists: the same tensors for any number of ranks.
TEST(PartitionUpdates, WholeStateIsTheSame) {
  const auto kept = [](const Graph& graph) {
    std::vector<std::pair<std::string, Shape>> found;
    for (const Tensor& tensor : graph.tensors()) {
      if (is_persistent(tensor.role))
        found.emplace_back(tensor.name, tensor.whole.empty() ? tensor.shape : tensor.whole);
    }
    return found;
  };
  const OptimizerOptions one{.optimizer = Optimizer::kAdam, .delayed = true};
  OptimizerOptions four = one;
  four.ranks = 4;
  four.accumulate = 2;
  EXPECT_EQ(kept(step_of_ranks(four, Precision::kBF16Masters)), kept(step_of_ranks(one, Precision::kBF16Masters)));
}

TEST(PartitionUpdates, TheNormIsOfAllRanks) {
  const Graph graph = step_of_ranks({.clip_norm = 1, .ranks = 2});
  const auto clip = std::ranges::find(graph.ops(), OpKind::kClipFactor, &Op::kind);
  ASSERT_NE(clip, graph.ops().end());
  EXPECT_EQ(clip->as<ClipAttributes>().ranks, 2);
  EXPECT_TRUE(is_collective(*clip));
  EXPECT_EQ(std::ranges::count(graph.ops(), OpKind::kClipFactor, &Op::kind), 1) << "one norm for all parameters";
  EXPECT_EQ(std::ssize(clip->inputs), std::ranges::count(graph.ops(), OpKind::kSgdUpdate, &Op::kind));
}

}  // namespace
}  // namespace sluice::graph
