#include "sluice/profile/op_estimate.hpp"

#include <gtest/gtest.h>

namespace sluice::profile {
namespace {

graph::TensorId add_matrix(graph::Graph& graph, std::int64_t rows, std::int64_t columns) {
  graph::Tensor tensor;
  tensor.shape = {rows, columns};
  return graph.add_tensor(tensor);
}

// y[n, out] = x[n, in] w[out, in]
graph::OpIndex add_dense(graph::Graph& graph, std::int64_t n, std::int64_t in, std::int64_t out) {
  graph::Op op;
  op.kind = graph::OpKind::kDense;
  op.inputs = {add_matrix(graph, n, in), add_matrix(graph, out, in)};
  op.outputs = {add_matrix(graph, n, out)};
  return graph.add_op(op);
}

graph::OpIndex add_relu(graph::Graph& graph, std::int64_t elements) {
  graph::Op op;
  op.kind = graph::OpKind::kRelu;
  op.inputs = {add_matrix(graph, 1, elements)};
  op.outputs = {add_matrix(graph, 1, elements)};
  return graph.add_op(op);
}

class OpEstimateTest : public ::testing::Test {
 protected:
  OpEstimateTest() {
    machine_.threads = 2;
    machine_.tiers.resize(1);
    machine_.tiers[0].read_bandwidth = 10e9;
  }

  Seconds estimate(graph::OpIndex op) const {
    return OpEstimator(machine_, known_).seconds(graph_.op(op).kind, work_of(graph_, graph_.op(op)));
  }
  void know(graph::OpIndex op, Seconds seconds) {
    known_[graph::op_signature(graph_, graph_.op(op))] = {.warm = {.median = seconds, .samples = 3},
                                                          .work = work_of(graph_, graph_.op(op))};
  }

  graph::Graph graph_;
  memory::Machine machine_;
  std::map<std::string, OpMeasurement> known_;
};

TEST_F(OpEstimateTest, WorkIsOperationsAndBytesOfOperands) {
  const OpWork work = work_of(graph_, graph_.op(add_dense(graph_, 8, 100, 50)));
  EXPECT_EQ(work.flops, 2.0 * 8 * 100 * 50);
  EXPECT_EQ(work.bytes, 4.0 * (8 * 100 + 50 * 100 + 8 * 50));
}

// Stored as [B, S, heads x features], seen as [B, S, heads, features].
TEST_F(OpEstimateTest, OfAViewOnlyBytesCount) {
  graph::Op op;
  op.kind = graph::OpKind::kMatMul;
  op.inputs = {add_matrix(graph_, 10, 20), add_matrix(graph_, 10, 20)};
  op.outputs = {add_matrix(graph_, 10, 10)};
  op.attributes = graph::ProductAttributes{.perm_a = {0, 2, 1, 3}};
  op.views = "0:[10, 2, 5, 2]";
  const OpWork work = work_of(graph_, op);
  EXPECT_EQ(work.flops, 0);
  EXPECT_EQ(work.bytes, 4.0 * (200 + 200 + 100));
}

TEST_F(OpEstimateTest, NothingIsKnownSoTheRoofDecides) {
  const graph::OpIndex dense = add_dense(graph_, 1000, 1000, 1000);
  EXPECT_DOUBLE_EQ(estimate(dense), 2e9 / (2 * kAssumedFlops));
  EXPECT_DOUBLE_EQ(estimate(add_relu(graph_, 1000)), 8000 / 10e9);
  EXPECT_DOUBLE_EQ(estimate(add_dense(graph_, 1, 1000, 1000)), 4.0 * (1000 + 1000000 + 1000) / 10e9)
      << "one row computes little, and reads all weights";
}

TEST_F(OpEstimateTest, TheRoofIsThatOfTheOpsThatWereMeasured) {
  know(add_dense(graph_, 1000, 1000, 1000), 0.1);
  know(add_relu(graph_, 1'000'000), 0.002);
  graph::Op other;  // of a kind that nobody measured
  other.kind = graph::OpKind::kAdd;
  other.inputs = {add_matrix(graph_, 1, 500'000)};
  other.outputs = {add_matrix(graph_, 1, 500'000)};
  EXPECT_DOUBLE_EQ(estimate(graph_.add_op(other)), 0.001);
}

TEST_F(OpEstimateTest, OpsOfItsKindScaleByTheirWork) {
  know(add_dense(graph_, 100, 100, 100), 1e-3);
  EXPECT_NEAR(estimate(add_dense(graph_, 200, 100, 100)), 2e-3, 1e-12);
  know(add_relu(graph_, 1000), 1e-6);
  EXPECT_NEAR(estimate(add_relu(graph_, 5000)), 5e-6, 1e-15);
}

// The kernel of large ones is twice as fast; what lies between takes something between.
TEST_F(OpEstimateTest, TheMostAlikeCountMost) {
  know(add_relu(graph_, 1'000), 2e-6);
  know(add_relu(graph_, 1'000'000), 1e-3);
  know(add_relu(graph_, 1'000'000'000'000), 1e5);  // of another world: not among the two nearest
  EXPECT_NEAR(estimate(add_relu(graph_, 1'100'000)), 1.1e-3, 0.05e-3);
  EXPECT_NEAR(estimate(add_relu(graph_, 1'100)), 2.2e-6, 0.1e-6);
  const Seconds between = estimate(add_relu(graph_, 31'623));
  EXPECT_GT(between, 1.2 * 31.6e-6);
  EXPECT_LT(between, 1.8 * 31.6e-6);
}

TEST_F(OpEstimateTest, AProfileSaysWhatOfItIsEstimated) {
  const graph::OpIndex alone = add_relu(graph_, 1000), in_steps = add_relu(graph_, 2000),
                       hasty = add_relu(graph_, 3000);
  add_relu(graph_, 4000);
  add_relu(graph_, 4000);
  ProfileCache cache = ProfileCache::open("nobody", ::testing::TempDir() + "no_such_folder");
  const auto put = [&](graph::OpIndex op, int samples, bool steps) {
    cache.put_op(graph::op_signature(graph_, graph_.op(op)), {.warm = {.median = 1e-6 * (op + 1), .samples = samples},
                                                              .in_steps = steps,
                                                              .work = work_of(graph_, graph_.op(op))});
  };
  put(alone, 5, false);
  put(in_steps, 3, true);
  put(hasty, 1, false);
  const Profile profile = known_profile(graph_, machine_, cache);
  EXPECT_EQ(profile.op_seconds[0], 1e-6);
  EXPECT_EQ(profile.op_seconds[1], 2e-6);
  EXPECT_EQ(profile.op_seconds[2], 3e-6);
  EXPECT_NEAR(profile.op_seconds[3], 4e-6, 1e-12);
  EXPECT_EQ(profile.distinct_ops, 4);
  EXPECT_EQ(profile.in_step_ops, 1);
  EXPECT_EQ(profile.estimated_ops, 2);
  EXPECT_NEAR(profile.estimated_share, 11.0 / 14, 1e-9);
  EXPECT_EQ(profile.provenance, memory::Provenance::kMeasured);
  EXPECT_TRUE(profile.cold_seconds.empty());
}

TEST_F(OpEstimateTest, WhereNothingIsKnownTheProfileIsGiven) {
  add_relu(graph_, 1000);
  const ProfileCache cache = ProfileCache::open("nobody", ::testing::TempDir() + "no_such_folder");
  const Profile profile = known_profile(graph_, machine_, cache);
  EXPECT_EQ(profile.provenance, memory::Provenance::kGiven);
  EXPECT_EQ(profile.estimated_share, 1);
}

}  // namespace
}  // namespace sluice::profile
