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

// A published difference stays what it is when this machine's memory is slower, or was measured in a bad moment.
TEST_F(CostModelTest, PublishedFiguresAreHeldAgainstTheMemoryTheyStoodBeside) {
  machine_.tiers[kSlow].beside_bandwidth = 2 * machine_.tiers[kSlow].read_bandwidth;
  machine_.tiers[kFastTier].read_bandwidth = machine_.tiers[kSlow].read_bandwidth;
  EXPECT_DOUBLE_EQ(slow_byte_seconds(machine_, kSlow).read, 1 / machine_.tiers[kSlow].beside_bandwidth);
}

TEST_F(CostModelTest, TransfersCostLatencyOnceAndBytesAtTheLinkBandwidth) {
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_DOUBLE_EQ(costs.transfer_seconds(0, 8192), 2.5);
}

TEST_F(CostModelTest, LinksOfOneDeviceSlowEachOtherDown) {
  machine_.links.push_back({.from = kSlow, .to = kFastTier, .bandwidth = 1000, .shared_bandwidth = 1000});
  machine_.links[0].shared_bandwidth = 1024;
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_EQ(costs.shares_with(0), 1);
  EXPECT_DOUBLE_EQ(costs.shared_speed(0), 0.25);
  EXPECT_EQ(costs.shares_with(1), std::nullopt);  // it loses nothing
  EXPECT_DOUBLE_EQ(costs.shared_speed(1), 1);
}

TEST_F(CostModelTest, LinksShareNothingUnlessToldSo) {
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_EQ(costs.shares_with(0), std::nullopt);
  EXPECT_DOUBLE_EQ(costs.shared_speed(0), 1);
}

TEST_F(CostModelTest, SharingNeverMakesALinkFaster) {
  machine_.links[0].shared_bandwidth = 8192;
  EXPECT_DOUBLE_EQ(CostModel(graph_, profile_, machine_).shared_speed(0), 1);
}

// Configurations of the op's input (bit 0) and output (bit 1), measured while 3 and 4 seconds were injected.
std::shared_ptr<PlacementTimes> measured_in(const Tier& tier) {
  const auto taking = [](OperandSet slow, Seconds seconds, Seconds injected) {
    return ConfigurationTime{.slow = slow, .timing = {.median = seconds}, .injected = injected};
  };
  return std::make_shared<PlacementTimes>(
      PlacementTimes{.tier = tier_key(tier),
                     .emulated = tier.emulated(),
                     .distinct = {{taking(0, 5, 0), taking(1, 8.5, 3), taking(2, 10, 4), taking(3, 13, 7)}},
                     .index = {0}});
}

TEST_F(CostModelTest, ARealTierCostsWhatItsConfigurationTook) {
  auto times = measured_in(machine_.tiers[kSlow]);
  for (ConfigurationTime& each : times->distinct[0]) each.injected = 0;
  profile_.placements = {times};
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<TierId>{kFastTier, kFastTier}), 2.0);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<TierId>{kSlow, kFastTier}), 2.0 + 3.5);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<TierId>{kFastTier, kSlow}), 2.0 + 5);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<TierId>{kSlow, kSlow}), 2.0 + 8);
}

TEST_F(CostModelTest, AnEmulatedTierCostsItsConfigurationWithTodaysDelayOnce) {
  machine_.tiers[kSlow].kind = TierKind::kEmulated;
  profile_.placements = {measured_in(machine_.tiers[kSlow])};
  const CostModel costs(graph_, profile_, machine_);
  const std::vector<TierId> input_slow{kSlow, kFastTier};
  const Seconds delay = injected_seconds(graph_, machine_, 0, input_slow);
  EXPECT_GT(delay, 0);
  EXPECT_DOUBLE_EQ(delay, costs.slow_access_seconds(0, input_slow));
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, input_slow), 2.0 + (8.5 - 3 - 5) + delay);
}

TEST_F(CostModelTest, NothingIsInjectedForRealMemory) {
  EXPECT_EQ(injected_seconds(graph_, machine_, 0, std::vector<TierId>{kSlow, kSlow}), 0);
}

TEST_F(CostModelTest, APlacementNeverMakesAnOpFaster) {
  auto times = measured_in(machine_.tiers[kSlow]);
  times->distinct[0][1].timing.median = 1;
  profile_.placements = {times};
  EXPECT_DOUBLE_EQ(CostModel(graph_, profile_, machine_).op_seconds(0, std::vector<TierId>{kSlow, kFastTier}), 2.0);
}

TEST_F(CostModelTest, TimesInATierThatThisMachineHasNotAreLeftAlone) {
  Tier other = machine_.tiers[kSlow];
  other.write_bandwidth += 1;
  const std::vector<TierId> both{kSlow, kSlow};
  const Seconds by_model = CostModel(graph_, profile_, machine_).op_seconds(0, both);
  profile_.placements = {measured_in(other)};
  EXPECT_DOUBLE_EQ(CostModel(graph_, profile_, machine_).op_seconds(0, both), by_model);
}

TEST_F(CostModelTest, SeveralSlowTiersAddUpEachInItsOwnWay) {
  machine_.tiers.push_back(tier_with(125, 50));
  machine_.tiers.back().name = "slower";
  auto times = measured_in(machine_.tiers[kSlow]);
  for (ConfigurationTime& each : times->distinct[0]) each.injected = 0;
  profile_.placements = {times};
  const Seconds write = 2048 * (1.0 / 50 - 1.0 / 500);  // not measured there
  EXPECT_DOUBLE_EQ(CostModel(graph_, profile_, machine_).op_seconds(0, std::vector<TierId>{kSlow, 2}),
                   2.0 + 3.5 + write);
}

TEST_F(CostModelTest, RefusesAProfileOfAnotherGraph) {
  profile_.op_seconds = {1.0, 2.0};
  EXPECT_THROW(CostModel(graph_, profile_, machine_), std::logic_error);
}

}  // namespace
}  // namespace sluice
