#include "sluice/measure/scratch_ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sluice/memory/machine.hpp"

namespace sluice::measure {
namespace {

constexpr Bytes kRing = 4 * kMiB;

// t0 -> op0 -> t1 -> op1 -> t2 ..., each tensor of `bytes`.
graph::Graph chain(int op_count, Bytes bytes, graph::DType dtype = graph::DType::kF32) {
  graph::Graph graph;
  graph::Tensor tensor;
  tensor.shape = {bytes / graph::size_of(dtype)};
  tensor.dtype = dtype;
  graph::TensorId last = graph.add_tensor(tensor);
  for (int i = 0; i < op_count; ++i) {
    graph::Op op;
    op.kind = graph::OpKind::kRelu;
    op.inputs = {last};
    op.outputs = {last = graph.add_tensor(tensor)};
    graph.add_op(op);
  }
  return graph;
}

TEST(ScratchRing, AConsumerFindsItsInputWhereTheProducerWroteIt) {
  const graph::Graph graph = chain(200, kRing / 100);  // twice round the ring
  auto ring = ScratchRing::make(graph, 1, kRing);
  ASSERT_TRUE(ring.ok());
  std::vector<void*> previous = ring->place(graph.op(0));
  for (graph::OpIndex op = 1; op < graph.op_count(); ++op) {
    const std::vector<void*> operands = ring->place(graph.op(op));
    EXPECT_EQ(operands[0], previous[1]) << "op " << op;
    previous = operands;
  }
}

// What it finds in memory would tell an update to do nothing, half of the time.
TEST(ScratchRing, UpdatesFindAFactorAndGradients) {
  graph::Graph graph;
  const auto add = [&](std::int64_t elements) {
    graph::Tensor tensor;
    tensor.shape = {elements};
    return graph.add_tensor(tensor);
  };
  graph::Op op;
  op.kind = graph::OpKind::kSgdUpdate;
  op.attributes = graph::UpdateAttributes{.delayed = true, .scaled = true};
  const graph::TensorId w = add(3000), momentum = add(3000);
  op.inputs = {w, add(3000), momentum, add(2), add(1)};
  op.outputs = {w, momentum};
  graph.add_op(op);
  auto ring = ScratchRing::make(graph, 1, kRing);
  ASSERT_TRUE(ring.ok());
  for (int turn = 0; turn < 50; ++turn) {
    const std::vector<void*> operands = ring->place(graph.op(0));
    const auto* const factor = static_cast<const float*>(operands[3]);
    EXPECT_EQ(factor[0], 1);
    EXPECT_EQ(factor[1], 0);
    EXPECT_EQ(*static_cast<const float*>(operands[4]), 1);
  }
}

TEST(ScratchRing, OperandsAreAlignedInsideAndApart) {
  graph::Graph graph;
  graph::Op op;
  for (const std::int64_t elements : {1, 3000, 800'000, 5, 90'000}) {
    graph::Tensor tensor;
    tensor.shape = {elements};
    op.inputs.push_back(graph.add_tensor(tensor));
  }
  for (int turn = 0; turn < 6; ++turn) {
    std::rotate(op.inputs.begin(), op.inputs.begin() + 1, op.inputs.end());
    graph.add_op(op);
  }
  auto ring = ScratchRing::make(graph, 1, kRing);
  ASSERT_TRUE(ring.ok());
  auto* base = static_cast<std::byte*>(ring->place(graph.op(0))[0]);  // the first tensor placed is at the start
  for (const graph::Op& each : graph.ops()) {
    const std::vector<void*> operands = ring->place(each);
    std::vector<Interval<Bytes>> used;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Bytes offset = static_cast<std::byte*>(operands[i]) - base;
      EXPECT_EQ(offset % memory::kBlockAlignment, 0);
      used.push_back({offset, offset + graph.tensor(each.inputs[i]).bytes});
      EXPECT_GE(used.back().begin, 0);
      EXPECT_LE(used.back().end, ring->bytes());
    }
    std::sort(used.begin(), used.end());
    for (std::size_t i = 1; i < used.size(); ++i) EXPECT_LE(used[i - 1].end, used[i].begin);
  }
}

TEST(ScratchRing, WhatWasWrittenLongAgoIsPlacedAnew) {
  graph::Graph graph = chain(200, kRing / 100);
  graph::Op reader;  // reads the very first and the very last tensor
  reader.inputs = {0, graph.tensor_count() - 1};
  graph.add_op(reader);
  auto ring = ScratchRing::make(graph, 1, kRing);
  ASSERT_TRUE(ring.ok());
  std::vector<void*> previous;
  for (graph::OpIndex op = 0; op < 200; ++op) previous = ring->place(graph.op(op));
  const std::vector<void*> operands = ring->place(graph.op(200));
  EXPECT_EQ(operands[1], previous[1]);
  EXPECT_NE(operands[0], operands[1]);
}

TEST(ScratchRing, WhatIsPlacedAnewLiesWhereNobodyHasBeenForAWholeRing) {
  const graph::Graph graph = chain(1, kRing / 8);
  auto ring = ScratchRing::make(graph, 1, kRing);
  ASSERT_TRUE(ring.ok());
  const std::vector<void*> first = ring->place(graph.op(0));
  std::vector<void*> all = first;
  for (int turn = 0; turn < 3; ++turn) {
    const std::vector<void*> anew = ring->place_anew(graph.op(0));
    EXPECT_EQ(ring->place(graph.op(0)), anew) << "and is there from then on";
    all.insert(all.end(), anew.begin(), anew.end());
  }
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << "eight tensors fill the ring";
  EXPECT_EQ(ring->place_anew(graph.op(0)), first);
}

TEST(ScratchRing, StartsWithOrdinaryFloats) {
  const graph::Graph graph = chain(1, kRing / 2);
  auto ring = ScratchRing::make(graph, 1, kRing);
  ASSERT_TRUE(ring.ok());
  const auto* floats = static_cast<const float*>(ring->place(graph.op(0))[0]);
  const auto ordinary = [](float value) { return std::isnormal(value) && std::abs(value) < 10; };
  EXPECT_TRUE(std::all_of(floats, floats + kRing / 4, ordinary));
}

TEST(ScratchRing, IntegersAreZeroWheneverAnOpReadsThem) {
  const graph::Graph graph = chain(9, kRing / 4, graph::DType::kU8);
  auto ring = ScratchRing::make(graph, 1, kRing);
  ASSERT_TRUE(ring.ok());
  for (const graph::Op& op : graph.ops()) {
    const std::vector<void*> operands = ring->place(op);
    const auto* bytes = static_cast<const char*>(operands[0]);
    EXPECT_TRUE(std::all_of(bytes, bytes + kRing / 4, [](char byte) { return byte == 0; }));
    std::memset(operands[1], 0x7f, kRing / 4);
    ring->clear_integers(op, operands);
  }
}

}  // namespace
}  // namespace sluice::measure
