#include "sluice/layout/page_layout.hpp"

#include <gtest/gtest.h>

#include "sluice/memory/allocators/best_fit_heap.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::layout {
namespace {

using testing::add_tiny_op;
using testing::add_tiny_tensor;

TEST(BestFitHeap, TakesTheTightestFreedRange) {
  memory::BestFitHeap heap;
  const Bytes large = heap.allocate(1024);
  heap.allocate(64);
  const Bytes small = heap.allocate(256);
  heap.allocate(64);
  heap.free(large, 1024);
  heap.free(small, 256);
  EXPECT_EQ(heap.allocate(200), small) << "256 bytes fit 200 better than 1024 do";
  EXPECT_EQ(heap.allocate(200), large);
  EXPECT_EQ(heap.allocate(512), large + 256) << "the rest of a range stays free";
  EXPECT_EQ(heap.end(), 1024 + 64 + 256 + 64);
}

TEST(BestFitHeap, MergesFreedNeighboursAndGrowsThroughTheLastOne) {
  memory::BestFitHeap heap;
  const Bytes a = heap.allocate(100);  // takes 128
  const Bytes b = heap.allocate(128);
  const Bytes c = heap.allocate(128);
  heap.allocate(64);
  heap.free(a, 100);
  heap.free(c, 128);
  heap.free(b, 128);
  EXPECT_EQ(heap.allocate(384), a);
  heap.free(a, 384);
  heap.free(384, 64);
  EXPECT_EQ(heap.allocate(1000), 0);
  EXPECT_EQ(heap.end(), 1024);
}

// w is persistent; op 0 makes x and y, op 1 reads x and makes z, op 2 reads y and z and makes t.
TEST(PageLayout, AllocationOrderPutsPersistentTensorsFirstAndReusesWhatWasFreed) {
  graph::Graph graph;
  const graph::TensorId x = testing::add_tiny_tensor(graph, "x", graph::Role::kActivation, 640);
  const graph::TensorId y = testing::add_tiny_tensor(graph, "y", graph::Role::kActivation, 100);
  const graph::TensorId w = testing::add_tiny_tensor(graph, "w", graph::Role::kParameter, 5000);
  const graph::TensorId z = testing::add_tiny_tensor(graph, "z", graph::Role::kActivation, 640);
  const graph::TensorId t = testing::add_tiny_tensor(graph, "t", graph::Role::kActivation, 600);
  const graph::TensorId unused = testing::add_tiny_tensor(graph, "unused", graph::Role::kActivation, 64);
  testing::add_tiny_op(graph, "0", {w}, {x, y});
  testing::add_tiny_op(graph, "1", {x}, {z});
  testing::add_tiny_op(graph, "2", {y, z}, {t});
  const PageLayout layout = allocation_order_layout(graph, graph::analyze_liveness(graph));
  const auto offset = [&](graph::TensorId id) { return layout.offsets[id]; };
  EXPECT_EQ(offset(w), 0);
  EXPECT_EQ(offset(x), 5056);
  EXPECT_EQ(offset(y), 5056 + 640);
  EXPECT_EQ(offset(z), 5696 + 128) << "x is freed only behind op 1";
  EXPECT_EQ(offset(t), offset(x));
  EXPECT_EQ(offset(unused), kUnplaced);
  EXPECT_EQ(layout.bytes, 5824 + 640);
}

TEST(PageLayout, PagesAreThoseThatATensorTouches) {
  graph::Graph graph;
  testing::add_tiny_tensor(graph, "inside", graph::Role::kActivation, 100);
  testing::add_tiny_tensor(graph, "across", graph::Role::kActivation, 5000);
  testing::add_tiny_tensor(graph, "nowhere", graph::Role::kActivation, 64);
  const PageLayout layout{.offsets = {4096, 4196, kUnplaced}, .bytes = 9196};
  EXPECT_EQ(pages_of(layout, graph, 0, 4096), (Interval<std::int64_t>{1, 2}));
  EXPECT_EQ(pages_of(layout, graph, 1, 4096), (Interval<std::int64_t>{1, 3}));
  EXPECT_TRUE(pages_of(layout, graph, 2, 4096).empty());
  EXPECT_EQ(page_count(layout, 4096), 3);
  EXPECT_EQ(page_count(layout, 8192), 2);
}

}  // namespace
}  // namespace sluice::layout
