#include "sluice/profile/cost_model.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr TierId kSlow = 1;

Tensor vector_of(std::int64_t elements) {
  Tensor tensor;
  tensor.shape = {elements};
  return tensor;
}

Tier tier_with(BytesPerSecond read_bandwidth, BytesPerSecond write_bandwidth) {
  Tier tier;
  tier.read_bandwidth = read_bandwidth;
  tier.write_bandwidth = write_bandwidth;
  return tier;
}

class CostModelTest : public ::testing::Test {
 protected:
  CostModelTest() {
    Op op;
    op.kind = OpKind::kRelu;
    op.inputs = {graph_.add_tensor(vector_of(256))};
    op.outputs = {graph_.add_tensor(vector_of(512))};
    graph_.add_op(op);
    machine_.tiers = {tier_with(1000, 500), tier_with(250, 100)};
    machine_.links = {{.from = kFastTier, .to = kSlow, .bandwidth = 4096, .latency = 0.5}};
    profile_.op_seconds = {2.0};
  }

  Graph graph_;
  Machine machine_;
  Profile profile_;
};

TEST_F(CostModelTest, FastOperandsCostTheProfiledTime) {
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0), 2.0);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<TierId>{kFastTier, kFastTier}), 2.0);
}

TEST_F(CostModelTest, SlowOperandsAddTheirBytesAtTheBandwidthDifference) {
  const CostModel costs(graph_, profile_, machine_);
  const Seconds read = 1024 * (1.0 / 250 - 1.0 / 1000);
  const Seconds write = 2048 * (1.0 / 100 - 1.0 / 500);
  EXPECT_DOUBLE_EQ(costs.slow_access_seconds(0, std::vector<TierId>{kSlow, kFastTier}), read);
  EXPECT_DOUBLE_EQ(costs.slow_access_seconds(0, std::vector<TierId>{kFastTier, kSlow}), write);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<TierId>{kSlow, kSlow}), 2.0 + read + write);
}

TEST_F(CostModelTest, ATierFasterThanTheFastOneSavesNothing) {
  machine_.tiers[kSlow].read_bandwidth = 2000;
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_EQ(costs.slow_access_seconds(0, std::vector<TierId>{kSlow, kFastTier}), 0);
}

TEST_F(CostModelTest, TransfersCostLatencyOnceAndBytesAtTheLinkBandwidth) {
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_DOUBLE_EQ(costs.transfer_seconds(0, 8192), 2.5);
}

TEST_F(CostModelTest, RefusesAProfileOfAnotherGraph) {
  profile_.op_seconds = {1.0, 2.0};
  EXPECT_THROW(CostModel(graph_, profile_, machine_), std::logic_error);
}

}  // namespace
}  // namespace sluice
