#include "sluice/layout/page_migration.hpp"

#include <gtest/gtest.h>

#include "sluice/graph/in_place.hpp"
#include "sluice/models/model.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::layout {
namespace {

using testing::add_tiny_op;
using testing::add_tiny_tensor;

// Six layers of one op. `a` is cold: made by op 0, read by op 5. The others are short-lived.
//
//   op    0    1    2    3    4    5
//         a    b    x    c    d    a read
struct SixLayers {
  enum : graph::TensorId { kA, kB, kX, kC, kD };
  graph::Graph graph;
  graph::Liveness liveness;

  SixLayers() {
    graph.layers = {"0", "1", "2", "3", "4", "5"};
    testing::add_tiny_tensor(graph, "a", graph::Role::kActivation, 2048);
    testing::add_tiny_tensor(graph, "b", graph::Role::kActivation, 1024);
    testing::add_tiny_tensor(graph, "x", graph::Role::kActivation, 4096);
    testing::add_tiny_tensor(graph, "c", graph::Role::kActivation, 1024);
    testing::add_tiny_tensor(graph, "d", graph::Role::kActivation, 4096);
    for (const graph::TensorId made : {kA, kB, kX, kC, kD}) testing::add_tiny_op(graph, "make", {}, {made});
    testing::add_tiny_op(graph, "use", {kA}, {});
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op) graph.op(op).layer = op;
    liveness = graph::analyze_liveness(graph);
  }

  PageTraffic traffic(const PageLayout& layout, FreedData freed) const {
    return simulate_page_migration(graph, liveness, layout, {.fast_budget = 16384, .freed = freed}).value();
  }
};

const PageLayout kShared{.offsets = {0, 2048, 4096, 2048, 8192}, .bytes = 12288};  // b and c on a's page
const PageLayout kSeparate{.offsets = {0, 4096, 8192, 4096, 12288}, .bytes = 16384};

TEST(PageMigration, AColdTensorIsDraggedAlongByWhatSharesItsPage) {
  const SixLayers step;
  EXPECT_EQ(step.traffic(kSeparate, FreedData::kKnown), (PageTraffic{4096, 4096})) << "a leaves and comes back, once";
  EXPECT_EQ(step.traffic(kShared, FreedData::kKnown), (PageTraffic{2 * 4096, 2 * 4096})) << "c brings it, in between";
}

TEST(PageMigration, WithoutKnowingWhatIsFreedDeadDataMovesToo) {
  const SixLayers step;
  EXPECT_EQ(step.traffic(kShared, FreedData::kUnknown), (PageTraffic{4 * 4096, 4 * 4096})) << "x's and d's pages too";
}

// One layer: p and q are made, r is scratch, then p and q are read.
TEST(PageMigration, MovesThePageTouchedLongestAgoWhenRoomIsLacking) {
  graph::Graph graph;
  graph.layers = {"0"};
  for (const char* name : {"p", "q", "r"}) testing::add_tiny_tensor(graph, name, graph::Role::kActivation, 4096);
  for (const graph::TensorId made : {0, 1, 2}) testing::add_tiny_op(graph, "make", {}, {made});
  testing::add_tiny_op(graph, "use", {0}, {});
  testing::add_tiny_op(graph, "use", {1}, {});
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  const PageLayout layout{.offsets = {0, 4096, 8192}, .bytes = 12288};
  const auto traffic = [&](Bytes budget) {
    return simulate_page_migration(graph, liveness, layout, {.fast_budget = budget}).value();
  };
  EXPECT_EQ(traffic(12288), (PageTraffic{0, 0}));
  EXPECT_EQ(traffic(8192), (PageTraffic{4096, 4096})) << "r takes p's room";
  EXPECT_EQ(traffic(4096), (PageTraffic{8192, 8192}));
}

TEST(PageMigration, PersistentTensorsMoveEveryStep) {
  graph::Graph graph;
  graph.layers = {"0", "1"};
  const graph::TensorId w = testing::add_tiny_tensor(graph, "w", graph::Role::kParameter, 10000);
  const graph::TensorId x = testing::add_tiny_tensor(graph, "x", graph::Role::kActivation, 64);
  testing::add_tiny_op(graph, "0", {w}, {});
  testing::add_tiny_op(graph, "1", {}, {x});
  graph.op(1).layer = 1;
  const PageLayout layout{.offsets = {0, 12288}, .bytes = 12352};
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  const auto traffic = simulate_page_migration(graph, liveness, layout, {.fast_budget = 16384}).value();
  EXPECT_EQ(traffic, (PageTraffic{12288, 12288}));
  const auto huge = simulate_page_migration(graph, liveness, layout, {.fast_budget = 2 * kMiB, .page_bytes = 2 * kMiB});
  EXPECT_EQ(huge.value(), (PageTraffic{0, 0})) << "on one huge page with x, w never gets to leave";
}

TEST(PageMigration, NamesTheOpThatDoesNotFit) {
  const SixLayers step;
  const auto result = simulate_page_migration(step.graph, step.liveness, kShared, {.fast_budget = 4000});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kInfeasible);
  EXPECT_NE(result.error().message.find("op 0 'make' touches 4.0 KiB"), std::string::npos) << result.error().message;
}

class PageMigrationOfNetworks : public ::testing::TestWithParam<const char*> {};

TEST_P(PageMigrationOfNetworks, MovesLessWhenReorganized) {
  graph::Graph graph = models::build_training_model(GetParam(), {.batch = 2}).value();
  graph::set_in_place_candidates(graph);
  graph::merge_in_place(graph);
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  const Bytes all = allocation_order_layout(graph, liveness).bytes;
  const auto compared = compare_page_migration(graph, liveness, {}, all * 6 / 10).value();
  const auto shown = [](const PageTraffic& t) { return format_bytes(t.in) + " in, " + format_bytes(t.out) + " out"; };
  RecordProperty("allocation_order", shown(compared.allocation_order));
  RecordProperty("freed_known", shown(compared.freed_known));
  RecordProperty("reorganized", shown(compared.reorganized));
  EXPECT_LT(compared.reorganized.total(), compared.allocation_order.total());
  // Blocks are rounded up to pages, which a small step of small tensors shows.
  EXPECT_LT(static_cast<double>(compared.reorganized.total()),
            1.15 * static_cast<double>(compared.freed_known.total()));
}

INSTANTIATE_TEST_SUITE_P(Built, PageMigrationOfNetworks,
                         ::testing::Values("resnet20", "resnet32", "resnet18", "resnet50", "resnet50_v2", "vgg16",
                                           "googlenet", "inception_v3", "densenet121", "mobilenet_v1", "mobilenet_v2",
                                           "squeezenet1_1"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace sluice::layout
