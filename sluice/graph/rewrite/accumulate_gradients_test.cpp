#include "sluice/graph/rewrite/accumulate_gradients.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/rewrite/clip_gradients.hpp"
#include "sluice/graph/rewrite/delay_updates.hpp"
#include "sluice/models/model.hpp"

namespace sluice::graph {
namespace {

Graph text_step() {
  return models::build_training_model(
             "gpt2_small", {.batch = 1, .classes = 50, .sequence = 8, .width = 64, .depth = 1, .dropout = 0.1F})
      .value();
}

std::int64_t count_of(const Graph& graph, OpKind kind) { return std::ranges::count(graph.ops(), kind, &Op::kind); }

TEST(AccumulateGradients, RunsThePassesOfEachBatchAndUpdatesOnce) {
  const Graph one = text_step(), three = accumulate_gradients(one, 3);
  ASSERT_TRUE(validate(three).ok()) << validate(three).error().message;
  const std::int64_t updates = count_of(one, OpKind::kSgdUpdate);
  EXPECT_EQ(count_of(three, OpKind::kSgdUpdate), updates);
  EXPECT_EQ(count_of(three, OpKind::kAccumulateGradient), 3 * updates);
  EXPECT_EQ(three.op_count(), 3 * (one.op_count() - updates) + 4 * updates);
  EXPECT_EQ(count_of(three, OpKind::kInput), 3);
}

TEST(AccumulateGradients, UpdatesGoByTheSumOfAllBatches) {
  const Graph graph = accumulate_gradients(text_step(), 2);
  std::map<TensorId, int> added;
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::kAccumulateGradient) {
      EXPECT_EQ(op.as<FactorAttributes>().factor, 0.5F);
      EXPECT_EQ(op.inputs.size(), added[op.outputs[0]]++ == 0 ? 1U : 2U) << op.name;
    }
    if (is_update(op.kind)) {
      EXPECT_EQ(added[op.inputs[1]], 2) << op.name;
    }
  }
}

TEST(AccumulateGradients, BatchesShareWhatPersistsAndNothingElse) {
  const Graph one = text_step(), two = accumulate_gradients(one, 2);
  const auto persistent = [](const Graph& graph) {
    return std::ranges::count_if(graph.tensors(), [](const Tensor& each) { return is_persistent(each.role); });
  };
  EXPECT_EQ(persistent(two), persistent(one));
  const auto losses = std::ranges::count(two.tensors(), Role::kOutput, &Tensor::role);
  EXPECT_EQ(losses, 2 * std::ranges::count(one.tensors(), Role::kOutput, &Tensor::role));
}

// A backward op draws what its forward op drew, and no two batches draw the same.
TEST(AccumulateGradients, EachBatchDropsElementsOfItsOwn) {
  const Graph one = text_step(), two = accumulate_gradients(one, 2);
  const auto streams = [](const Graph& graph) {
    std::multiset<std::uint64_t> found;
    for (const Op& op : graph.ops()) {
      if (op.kind == OpKind::kDropout) found.insert(op.as<DropoutAttributes>().stream);
    }
    return found;
  };
  const auto once = streams(one), twice = streams(two);
  ASSERT_FALSE(once.empty());
  EXPECT_EQ(twice.size(), 2 * once.size());
  for (const std::uint64_t stream : once) EXPECT_EQ(twice.count(stream), once.count(stream));
  EXPECT_EQ(std::set(twice.begin(), twice.end()).size(), 2 * std::set(once.begin(), once.end()).size());
}

TEST(AccumulateGradients, GoesTogetherWithDelaysAndClipping) {
  const Graph graph = clip_gradients(delay_updates(accumulate_gradients(text_step(), 2)), 1);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  for (const Op& op : graph.ops()) {
    if (!is_update(op.kind)) continue;
    EXPECT_TRUE(is_clipped(op)) << op.name;
    EXPECT_TRUE(is_in_flight(graph.tensor(op.inputs[1]))) << op.name;
  }
}

}  // namespace
}  // namespace sluice::graph
