#include "benchmarks/papers/published_profile.hpp"

#include <gtest/gtest.h>

#include "sluice/profile/cost_model.hpp"

namespace sluice::benchmarks::autotm {
namespace {

constexpr Seconds kMicrosecond = 1e-6;

// Ops one after the other on made-up kernels (testdata/made_kernels).
class PublishedProfileTest : public ::testing::Test {
 protected:
  graph::TensorId tensor(graph::Shape shape, graph::Role role = graph::Role::kActivation) {
    return graph.add_tensor({.name = "t", .shape = std::move(shape), .role = role});
  }
  void op(graph::OpKind kind, std::vector<graph::TensorId> inputs, std::vector<graph::TensorId> outputs,
          graph::Activation activation = graph::Activation::kNone) {
    graph::Op made{.name = "op",
                   .kind = kind,
                   .attributes = graph::default_attributes(kind),
                   .inputs = std::move(inputs),
                   .outputs = std::move(outputs)};
    graph::fuse_activation(made.attributes, activation);
    graph.add_op(std::move(made));
  }
  PublishedProfile profile() const { return published_profile(graph, machine, table); }
  static Coverage total_of(const PublishedProfile& made) {
    Coverage sum;
    for (const auto& [kind, each] : made.coverage) sum += each;
    return sum;
  }

  graph::Graph graph;
  memory::Machine machine = published_machine();
  KernelTable table{read_kernels(SLUICE_TESTDATA "/made_kernels").value(), autotm_machine(), {0.12, 240e-6}};
};

TEST_F(PublishedProfileTest, HasTheKernelsTimesByPlacement) {
  const graph::TensorId x = tensor({2, 8, 8, 8}), y = tensor({2, 8, 8, 8});
  op(graph::OpKind::kRelu, {x}, {y});
  const PublishedProfile made = profile();
  const profile::CostModel costs(graph, made.profile, machine);
  EXPECT_TRUE(costs.is_measured(0, 1));
  EXPECT_NEAR(costs.op_seconds(0), 20 * kMicrosecond, 1e-12);
  EXPECT_NEAR(costs.op_seconds(0, std::vector<memory::TierId>{0, 1}), 120 * kMicrosecond, 1e-12);
  EXPECT_NEAR(costs.op_seconds(0, std::vector<memory::TierId>{1, 0}), 25 * kMicrosecond, 1e-12);
  EXPECT_NEAR(costs.op_seconds(0, std::vector<memory::TierId>{1, 1}), 130 * kMicrosecond, 1e-12);
  EXPECT_EQ(total_of(made).published_placements, 4);
}

TEST_F(PublishedProfileTest, AnInPlaceOperandLiesInOneTierOnBothSides) {
  const graph::TensorId x = tensor({2, 8, 8, 8});
  op(graph::OpKind::kRelu, {x}, {x});
  const PublishedProfile made = profile();
  const profile::CostModel costs(graph, made.profile, machine);
  EXPECT_NEAR(costs.op_seconds(0, std::vector<memory::TierId>{1, 1}), 130 * kMicrosecond, 1e-12);
  EXPECT_EQ(total_of(made).placements, 2);
}

TEST_F(PublishedProfileTest, AFusedOpTakesTheSumOfItsParts) {
  const graph::TensorId x = tensor({2, 8, 8, 8}), y = tensor({2, 8, 8, 8}), residual = tensor({2, 8, 8, 8});
  const graph::TensorId scale = tensor({2, 8}), running = tensor({2, 8}), stats = tensor({2, 8});
  op(graph::OpKind::kBatchNorm, {x, scale, running, residual}, {y, stats, running}, graph::Activation::kRelu);
  const PublishedProfile made = profile();
  const profile::CostModel costs(graph, made.profile, machine);
  EXPECT_NEAR(costs.op_seconds(0), (50 + 30 + 20) * kMicrosecond, 1e-12);
  // x, residual and y in Optane: read by the batch norm, by the add, and written by the ReLU.
  EXPECT_NEAR(costs.op_seconds(0, std::vector<memory::TierId>{1, 0, 0, 1, 1, 0, 0}), (70 + 40 + 120) * kMicrosecond,
              1e-12);
  EXPECT_EQ(total_of(made).unmatched_ops, 0);
}

TEST_F(PublishedProfileTest, OperandsOfNoPartCostWhatTheRuleSays) {
  const graph::TensorId x = tensor({2, 4, 8, 8}), w = tensor({8, 4, 1, 7}), y = tensor({2, 8, 8, 8});
  const graph::TensorId workspace = tensor({1024}, graph::Role::kWorkspace);
  op(graph::OpKind::kConv2d, {x, w}, {y, workspace});
  const PublishedProfile made = profile();
  const profile::CostModel costs(graph, made.profile, machine);
  EXPECT_NEAR(costs.op_seconds(0), 100 * kMicrosecond, 1e-12);
  EXPECT_GE(costs.op_seconds(0, std::vector<memory::TierId>{0, 0, 0, 1}), (100 + 240) * kMicrosecond);
}

TEST_F(PublishedProfileTest, SaysHowMuchIsUnmatched) {
  const graph::TensorId a = tensor({2, 8, 8, 8}), b = tensor({2, 8, 8, 8}), half = tensor({512}), other = tensor({512});
  op(graph::OpKind::kRelu, {a}, {b});          // published: 20 us
  op(graph::OpKind::kRelu, {half}, {other});   // scaled: 10 us
  op(graph::OpKind::kUnary, {half}, {other});  // no such kernel
  const PublishedProfile made = profile();
  const Coverage total = total_of(made);
  EXPECT_EQ(total.ops, 3);
  EXPECT_EQ(total.unmatched_ops, 2);
  EXPECT_NEAR(total.scaled_seconds, 10 * kMicrosecond, 1e-12);
  EXPECT_GT(total.guessed_seconds, 0);
  EXPECT_NEAR(total.seconds, 30 * kMicrosecond + total.guessed_seconds, 1e-12);
  EXPECT_EQ(made.coverage.at(graph::OpKind::kRelu).unmatched_ops, 1);
  EXPECT_EQ(made.coverage.at(graph::OpKind::kUnary).unmatched_ops, 1);
}

}  // namespace
}  // namespace sluice::benchmarks::autotm
