#include "sluice/layout/reorganize.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/in_place.hpp"
#include "sluice/models/model.hpp"
#include "sluice/testing/small_models.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::layout {
namespace {

using testing::add_tiny_op;
using testing::add_tiny_tensor;

// Three layers of two ops each.
//
//   op           0      1      2      3      4      5
//   cold, hot    w             r      r             r     long-lived, layers 0 to 2
//   late                w                    r            long-lived, layers 0 to 2
//   mid                        w             r            long-lived, layers 1 to 2
//   s0, s1       s0 w   s0 r   s1 w   s1 r                short-lived, of two layers
//   t                          w      r                   short-lived, beside s1
//   w, scale     r                           w     w      persistent, used in layers 0 and 2
//   momentum                                 w            persistent, used in layer 2
struct ThreeLayers {
  graph::Graph graph;
  graph::TensorId image = testing::add_tiny_tensor(graph, "image", graph::Role::kInput, 64);
  graph::TensorId cold = testing::add_tiny_tensor(graph, "cold", graph::Role::kActivation, 300);
  graph::TensorId hot = testing::add_tiny_tensor(graph, "hot", graph::Role::kActivation, 200);
  graph::TensorId late = testing::add_tiny_tensor(graph, "late", graph::Role::kActivation, 100);
  graph::TensorId mid = testing::add_tiny_tensor(graph, "mid", graph::Role::kActivation, 100);
  graph::TensorId s0 = testing::add_tiny_tensor(graph, "s0", graph::Role::kActivation, 5000);
  graph::TensorId s1 = testing::add_tiny_tensor(graph, "s1", graph::Role::kActivation, 100);
  graph::TensorId t = testing::add_tiny_tensor(graph, "t", graph::Role::kActivation, 100);
  graph::TensorId w = testing::add_tiny_tensor(graph, "w", graph::Role::kParameter, 100);
  graph::TensorId scale = testing::add_tiny_tensor(graph, "scale", graph::Role::kParameter, 100);
  graph::TensorId momentum = testing::add_tiny_tensor(graph, "momentum", graph::Role::kOptimizerState, 100);
  graph::Liveness liveness;

  ThreeLayers() {
    graph.layers = {"0", "1", "2"};
    testing::add_tiny_op(graph, "0", {w, scale, image}, {cold, hot, s0});
    testing::add_tiny_op(graph, "1", {s0}, {late});
    testing::add_tiny_op(graph, "2", {hot, cold}, {mid, s1, t});
    testing::add_tiny_op(graph, "3", {hot, s1, t}, {});
    testing::add_tiny_op(graph, "4", {late, mid, w, momentum}, {w, momentum});
    testing::add_tiny_op(graph, "5", {cold, hot, scale}, {scale});
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op) graph.op(op).layer = op / 2;
    liveness = graph::analyze_liveness(graph);
  }

  std::vector<TensorBlock> blocks(PersistentTensors persistent,
                                  std::span<const profile::TensorAccesses> accesses = {}) const {
    return reorganize(graph, liveness, accesses, {.persistent = persistent});
  }
};

const TensorBlock& block_of(const std::vector<TensorBlock>& blocks, graph::TensorId id) {
  const auto holds = [&](const TensorBlock& block) {
    return std::find(block.tensors.begin(), block.tensors.end(), id) != block.tensors.end();
  };
  const auto found = std::find_if(blocks.begin(), blocks.end(), holds);
  SLUICE_CHECK(found != blocks.end(), "every tensor that is used is in a block");
  SLUICE_CHECK(std::find_if(found + 1, blocks.end(), holds) == blocks.end(), "in one block only");
  return *found;
}

TEST(Reorganize, ShortLivedTensorsOfALayerShareAndThoseOfTwoLayersDoNot) {
  const ThreeLayers step;
  const auto blocks = step.blocks(PersistentTensors::kAlone);
  EXPECT_EQ(block_of(blocks, step.s0).tensors, (std::vector<graph::TensorId>{step.s0}));
  EXPECT_EQ(block_of(blocks, step.s1).tensors, (std::vector<graph::TensorId>{step.s1, step.t}));
  EXPECT_EQ(block_of(blocks, step.s1).kind, BlockKind::kShortLived);
  EXPECT_EQ(block_of(blocks, step.s1).offsets, (std::vector<Bytes>{0, 128}));
  EXPECT_EQ(block_of(blocks, step.s0).bytes, 8192);
}

TEST(Reorganize, LongLivedTensorsOfTheSameLayersLieByDescendingAccesses) {
  const ThreeLayers step;
  const auto blocks = step.blocks(PersistentTensors::kAlone);
  const TensorBlock& block = block_of(blocks, step.cold);
  EXPECT_EQ(block.kind, BlockKind::kLongLived);
  EXPECT_EQ(block.tensors, (std::vector<graph::TensorId>{step.hot, step.cold, step.late})) << "by ops that use them";
  EXPECT_EQ(block.offsets, (std::vector<Bytes>{0, 256, 576}));
  EXPECT_EQ(block.ops, (Interval<graph::OpIndex>{0, 6}));
  EXPECT_EQ(block.bytes, 4096);
  EXPECT_EQ(block_of(blocks, step.mid).tensors, (std::vector<graph::TensorId>{step.mid})) << "lives in other layers";

  std::vector<profile::TensorAccesses> accesses(step.graph.tensors().size());
  accesses[as_index(step.late)].per_page = 7;
  accesses[as_index(step.cold)].per_page = 5;
  const auto measured = step.blocks(PersistentTensors::kAlone, accesses);
  EXPECT_EQ(block_of(measured, step.cold).tensors, (std::vector<graph::TensorId>{step.late, step.cold, step.hot}));
}

TEST(Reorganize, WhatIsThereBeforeTrainingIsAloneOrSharesByLayersOfUse) {
  const ThreeLayers step;
  const auto alone = step.blocks(PersistentTensors::kAlone);
  for (const graph::TensorId id : {step.image, step.w, step.scale, step.momentum}) {
    EXPECT_EQ(block_of(alone, id).tensors, (std::vector<graph::TensorId>{id}));
    EXPECT_EQ(block_of(alone, id).kind, BlockKind::kAlone);
  }
  const auto shared = step.blocks(PersistentTensors::kByLayersOfUse);
  EXPECT_EQ(block_of(shared, step.w).tensors, (std::vector<graph::TensorId>{step.w, step.scale}));
  EXPECT_EQ(block_of(shared, step.momentum).tensors, (std::vector<graph::TensorId>{step.momentum}));
  EXPECT_EQ(block_of(shared, step.image).kind, BlockKind::kAlone);
}

TEST(Reorganize, TheLayoutKeepsARegionForShortLivedTensors) {
  const ThreeLayers step;
  const PageLayout layout = reorganized_layout(step.graph, step.liveness, {}, {});
  EXPECT_EQ(layout.offsets[step.s0], 0);
  EXPECT_EQ(layout.offsets[step.s1], 0) << "layers take turns";
  EXPECT_EQ(layout.offsets[step.t], 128);
  for (const graph::TensorId id : {step.hot, step.mid, step.w, step.image}) {
    EXPECT_GE(layout.offsets[id], 8192);
  }
}

graph::Graph small_executable(const models::ModelEntry& entry) {
  graph::Graph graph = models::build_training_model(entry.name, testing::small_options(entry)).value();
  graph::set_in_place_candidates(graph);
  graph::merge_in_place(graph);
  return graph;
}

// Any two tensors that are live together: no byte in common; a page in common only within a block.
TEST(Reorganize, KeepsItsRulesOnEveryModel) {
  for (const models::ModelEntry& entry : models::models()) {
    const graph::Graph graph = small_executable(entry);
    const graph::Liveness liveness = graph::analyze_liveness(graph);
    const auto blocks = reorganize(graph, liveness, {}, {});
    const PageLayout layout = block_layout(graph, blocks);
    std::vector<const TensorBlock*> block_by_tensor(graph.tensors().size(), nullptr);
    for (const TensorBlock& block : blocks) {
      for (const graph::TensorId id : block.tensors) block_by_tensor[as_index(id)] = &block;
    }
    const auto bytes = [&](graph::TensorId id) {
      const Bytes offset = layout.offsets[id];
      return Interval<Bytes>{offset, offset + graph.tensor(id).bytes};
    };
    for (graph::TensorId a = 0; a < graph.tensor_count(); ++a) {
      if (block_by_tensor[as_index(a)] == nullptr) continue;
      EXPECT_EQ(bytes(a).begin % 64, 0);
      EXPECT_LE(bytes(a).end, layout.bytes);
      for (graph::TensorId b = 0; b < a; ++b) {
        const auto& ranges = liveness.ranges;
        if (block_by_tensor[as_index(b)] == nullptr) continue;
        if (!ranges[a].overlaps(ranges[b])) continue;
        ASSERT_FALSE(bytes(a).overlaps(bytes(b))) << entry.name;
        if (block_by_tensor[as_index(a)] == block_by_tensor[as_index(b)]) continue;
        ASSERT_FALSE(
            pages_of(layout, graph, a, profile::kPageBytes).overlaps(pages_of(layout, graph, b, profile::kPageBytes)))
            << entry.name << ": " << graph.tensor(a).name << " and " << graph.tensor(b).name;
      }
    }
  }
}

TEST(Reorganize, RefusesPagesThatAreNone) {
  const ThreeLayers step;
  EXPECT_THROW(reorganize(step.graph, step.liveness, {}, {.page_bytes = 100}), std::logic_error);
  EXPECT_THROW(reorganize(step.graph, step.liveness, std::vector<profile::TensorAccesses>(1), {}), std::logic_error);
}

}  // namespace
}  // namespace sluice::layout
