#include "sluice/profile/scale_profile.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sluice::profile {
namespace {

graph::TensorId tensor_of(graph::Graph& graph, graph::Shape shape) {
  graph::Tensor tensor;
  tensor.shape = std::move(shape);
  return graph.add_tensor(std::move(tensor));
}

// Adds a dense op of 2 x rows x 4 x 8 floating-point operations.
void add_dense(graph::Graph& graph, const std::string& name, std::int64_t rows) {
  graph::Op op;
  op.name = name;
  op.kind = graph::OpKind::kDense;
  op.inputs = {tensor_of(graph, {rows, 4}), tensor_of(graph, {8, 4})};
  op.outputs = {tensor_of(graph, {rows, 8})};
  graph.add_op(std::move(op));
}

// Adds an op of 8 x elements bytes.
void add_elementwise(graph::Graph& graph, const std::string& name, graph::OpKind kind, std::int64_t elements) {
  graph::Op op;
  op.name = name;
  op.kind = kind;
  op.inputs = {tensor_of(graph, {elements})};
  op.outputs = {tensor_of(graph, {elements})};
  graph.add_op(std::move(op));
}

class ScaleProfileTest : public ::testing::Test {
 protected:
  ScaleProfileTest() {
    from_.name = "measured";
    add_dense(from_, "first", 10);
    add_dense(from_, "second", 30);
    add_elementwise(from_, "relu", graph::OpKind::kRelu, 100);
    profile_.graph_fingerprint = from_.fingerprint();
    profile_.compute_fingerprint = "machine";
    profile_.op_seconds = {1, 9, 0.5};
    profile_.cold_seconds = {2, 10, 1};
    auto placement = std::make_shared<PlacementTimes>();
    placement->tier = "optane";
    placement->distinct.resize(2);
    placement->index = {0, 1, -1};
    profile_.placements = {placement};
  }

  graph::Graph from_, to_;
  Profile profile_;
};

TEST_F(ScaleProfileTest, TheSameGraphKeepsItsTimes) {
  const Profile scaled = scale_profile(from_, profile_, from_);
  EXPECT_EQ(scaled.op_seconds, profile_.op_seconds);
  EXPECT_EQ(scaled.cold_seconds, profile_.cold_seconds);
  EXPECT_EQ(scaled.graph_fingerprint, from_.fingerprint());
  EXPECT_EQ(scaled.compute_fingerprint, "machine");
  EXPECT_EQ(scaled.placements.at(0)->index, profile_.placements[0]->index);
  EXPECT_EQ(scaled.provenance, memory::Provenance::kGiven);
  EXPECT_EQ(scaled.distinct_ops, 3);
  EXPECT_EQ(scaled.measured_ops, 0);
}

TEST_F(ScaleProfileTest, AnEqualSignatureGoesBeforeAnEqualName) {
  add_dense(to_, "second", 10);  // does what "first" did
  const Profile scaled = scale_profile(from_, profile_, to_);
  EXPECT_EQ(scaled.op_seconds, std::vector<Seconds>{1});
  EXPECT_EQ(scaled.cold_seconds, std::vector<Seconds>{2});
  EXPECT_EQ(scaled.placements.at(0)->index, std::vector<std::int32_t>{0});
  EXPECT_EQ(scaled.graph_fingerprint, to_.fingerprint());
}

TEST_F(ScaleProfileTest, AnOpOfTheSameNameIsScaledByItsWork) {
  add_dense(to_, "second", 60);
  add_elementwise(to_, "relu", graph::OpKind::kRelu, 25);
  const Profile scaled = scale_profile(from_, profile_, to_);
  EXPECT_DOUBLE_EQ(scaled.op_seconds.at(0), 18);
  EXPECT_DOUBLE_EQ(scaled.op_seconds.at(1), 0.125);
  EXPECT_DOUBLE_EQ(scaled.cold_seconds.at(0), 20);
  EXPECT_EQ(scaled.placements.at(0)->index, (std::vector<std::int32_t>{-1, -1}));
}

TEST_F(ScaleProfileTest, ANewOpTakesTheMeanRateOfItsKind) {
  add_dense(to_, "third", 20);
  EXPECT_DOUBLE_EQ(scale_profile(from_, profile_, to_).op_seconds.at(0), 10.0 / 40 * 20);
}

TEST_F(ScaleProfileTest, ANewKindTakesTheMeanRateOfAllBytes) {
  add_elementwise(to_, "sum", graph::OpKind::kSoftmax, 50);
  const double measured_bytes = 4.0 * ((40 + 32 + 80) + (120 + 32 + 240) + 200);
  EXPECT_DOUBLE_EQ(scale_profile(from_, profile_, to_).op_seconds.at(0), 10.5 / measured_bytes * 400);
}

TEST_F(ScaleProfileTest, AProfileOfAnotherGraphIsABrokenInvariant) {
  add_dense(to_, "third", 20);
  EXPECT_THROW(scale_profile(to_, profile_, from_), std::logic_error);
}

}  // namespace
}  // namespace sluice::profile
