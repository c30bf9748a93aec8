#include "sluice/profile/cost_model.hpp"

#include <gtest/gtest.h>

namespace sluice::profile {
namespace {

constexpr memory::TierId kSlow = 1;

graph::Tensor vector_of(std::int64_t elements) {
  graph::Tensor tensor;
  tensor.shape = {elements};
  return tensor;
}

memory::Tier tier_with(BytesPerSecond read_bandwidth, BytesPerSecond write_bandwidth) {
  memory::Tier tier;
  tier.read_bandwidth = read_bandwidth;
  tier.write_bandwidth = write_bandwidth;
  return tier;
}

class CostModelTest : public ::testing::Test {
 protected:
  CostModelTest() {
    graph::Op op;
    op.kind = graph::OpKind::kRelu;
    op.inputs = {graph_.add_tensor(vector_of(256))};
    op.outputs = {graph_.add_tensor(vector_of(512))};
    graph_.add_op(op);
    machine_.tiers = {tier_with(1000, 500), tier_with(250, 100)};
    machine_.links = {{.from = memory::kFastTier, .to = kSlow, .bandwidth = 4096, .latency = 0.5}};
    profile_.op_seconds = {2.0};
  }

  graph::Graph graph_;
  memory::Machine machine_;
  Profile profile_;
};

TEST_F(CostModelTest, FastOperandsCostTheProfiledTime) {
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0), 2.0);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<memory::TierId>{memory::kFastTier, memory::kFastTier}), 2.0);
}

// Nothing is in a cache of no bytes: the output's lines are fetched too.
TEST_F(CostModelTest, SlowOperandsCostWhatTheRuleSays) {
  const CostModel costs(graph_, profile_, machine_);
  const Seconds written = 2048 * (1.0 / 100 - 1.0 / 500);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<memory::TierId>{kSlow, memory::kFastTier}), 1024 / 250.0);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<memory::TierId>{memory::kFastTier, kSlow}), 2048 / 250.0 + written);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<memory::TierId>{kSlow, kSlow}), 3072 / 250.0 + written);
}

// Host memory behind a device's link: for the host it is what fast memory is for the device.
TEST_F(CostModelTest, AProcessorsOwnMemoryCostsNothingMore) {
  machine_.tiers[kSlow].kind = memory::TierKind::kEmulated;
  machine_.tiers[kSlow].addressable = false;
  machine_.processors = {{.name = "device"}, {.name = "host", .tiers = {kSlow}}};
  graph_.op(0).processor = 1;
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<memory::TierId>{kSlow, kSlow}), 2.0);
}

TEST_F(CostModelTest, ReadsPassWhileTheOpComputes) {
  profile_.op_seconds = {1024 / 250.0 + 1};
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<memory::TierId>{kSlow, memory::kFastTier}), profile_.op_seconds[0]);
}

// From step to step the cache keeps both tensors: their traffic is none.
TEST_F(CostModelTest, WhatTheCachesHoldCostsNothing) {
  machine_.cache_bytes = 8192;
  graph_.tensor(0).role = graph::Role::kParameter;
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<memory::TierId>{kSlow, kSlow}), 2.0);
}

TEST_F(CostModelTest, TransfersCostLatencyOnceAndBytesAtTheLinkBandwidth) {
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_DOUBLE_EQ(costs.transfer_seconds(0, 8192), 2.5);
}

// A tensor of 8192 bytes of which 2048 move encoded; the encoder packs 16,384 bytes a second.
TEST_F(CostModelTest, WithOtherTimesIsAsMadeFromThem) {
  const CostModel costs(graph_, profile_, machine_);
  memory::Machine faster = machine_;
  faster.links[0].bandwidth *= 3;
  Profile longer = profile_;
  longer.op_seconds = {3.0};
  const CostModel made(graph_, longer, faster);
  const CostModel other = costs.with(longer, faster);
  for (const memory::TierId tier : {memory::kFastTier, kSlow}) {
    EXPECT_EQ(other.op_seconds(0, std::vector<memory::TierId>{tier, tier}),
              made.op_seconds(0, std::vector<memory::TierId>{tier, tier}));
  }
  EXPECT_EQ(other.transfer_seconds(0, 6144), made.transfer_seconds(0, 6144));
  EXPECT_NE(other.transfer_seconds(0, 6144), costs.transfer_seconds(0, 6144));
}

class EncodedTransfers : public CostModelTest {
 protected:
  EncodedTransfers() {
    machine_.links.push_back({.from = kSlow, .to = memory::kFastTier, .bandwidth = 4096});
    encode_at(16384, 32768);
  }
  void encode_at(BytesPerSecond encode, BytesPerSecond decode) {
    profile_.encodings =
        std::make_shared<EncodingFigures>(EncodingFigures{.encoded_bytes = {2048, 0}, .zero_value = {encode, decode}});
  }
  static constexpr Load kEncoded{0, 8192, true};
};

TEST_F(EncodedTransfers, CostTheBytesThatMoveAndTheEncoder) {
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_EQ(costs.moved_bytes(kEncoded), 2048);
  EXPECT_DOUBLE_EQ(costs.transfer_seconds(0, kEncoded), 0.5 + 2048.0 / 4096 + 8192.0 / 16384);
  EXPECT_DOUBLE_EQ(costs.transfer_seconds(1, kEncoded), 2048.0 / 4096 + 8192.0 / 32768);
  const Load as_it_is{0, 8192};
  EXPECT_DOUBLE_EQ(costs.transfer_seconds(0, as_it_is), costs.transfer_seconds(0, 8192));
  const Load unknown{1, 8192, true};
  EXPECT_EQ(costs.moved_bytes(unknown), 8192) << "nobody measured";
}

TEST_F(EncodedTransfers, TakeTheEncodersTimeFromCompute) {
  machine_.links[0].interference = 0.1 / 4096;
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_DOUBLE_EQ(costs.interference(0, {0, 8192}), 0.1);
  EXPECT_DOUBLE_EQ(costs.interference(0, kEncoded), (0.1 * (0.5 + 0.5) + 0.5) / 1.5);
}

// 8192 bytes in two seconds and half a second of latency, in three requests.
TEST_F(EncodedTransfers, RequestsTakeTheirPartOfCompute) {
  machine_.links[0].interference = 0.1 / 4096;
  machine_.links[0].request_interference = 0.05;
  machine_.links[0].request_bytes = 3000;
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_DOUBLE_EQ(costs.interference(0, {0, 8192}), (0.1 * 2.5 + 3 * 0.05) / 2.5);
}

TEST_F(EncodedTransfers, PayOnlyOnALinkThatIsSlowerThanTheEncoder) {
  EXPECT_TRUE(CostModel(graph_, profile_, machine_).worth_encoding(0, 1, 0, 8192));
  for (const BytesPerSecond speed : {4096.0, 1000.0}) {  // the link's, and less
    encode_at(speed, 1e9);
    EXPECT_FALSE(CostModel(graph_, profile_, machine_).worth_encoding(0, 1, 0, 8192)) << speed;
    encode_at(1e9, speed);
    EXPECT_FALSE(CostModel(graph_, profile_, machine_).worth_encoding(0, 1, 0, 8192)) << speed;
  }
  // Three quarters of the time of the link are saved: the encoder may take less than that.
  encode_at(4096 / 0.74, 1e9);
  EXPECT_TRUE(CostModel(graph_, profile_, machine_).worth_encoding(0, 1, 0, 8192));
  encode_at(4096 / 0.76, 1e9);
  EXPECT_FALSE(CostModel(graph_, profile_, machine_).worth_encoding(0, 1, 0, 8192));
}

TEST_F(EncodedTransfers, NeverPayWhereNothingWasMeasured) {
  EXPECT_FALSE(CostModel(graph_, profile_, machine_).worth_encoding(0, 1, 1, 8192));
  encode_at(0, 0);
  EXPECT_FALSE(CostModel(graph_, profile_, machine_).worth_encoding(0, 1, 0, 8192));
  profile_.encodings = nullptr;
  EXPECT_FALSE(CostModel(graph_, profile_, machine_).worth_encoding(0, 1, 0, 8192));
  EXPECT_EQ(CostModel(graph_, profile_, machine_).moved_bytes(kEncoded), 8192);
}

TEST_F(CostModelTest, LinksOfOneDeviceSlowEachOtherDown) {
  machine_.links.push_back({.from = kSlow, .to = memory::kFastTier, .bandwidth = 1000, .shared_bandwidth = 1000});
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

// Configurations of the op's input (bit 0) and output (bit 1).
std::shared_ptr<PlacementTimes> measured_in(const memory::Tier& tier) {
  const auto taking = [](OperandSet slow, Seconds seconds) {
    return ConfigurationTime{.slow = slow, .timing = {.median = seconds}};
  };
  return std::make_shared<PlacementTimes>(
      PlacementTimes{.tier = tier_key(tier),
                     .emulated = tier.emulated(),
                     .distinct = {{taking(0, 5), taking(1, 8.5), taking(2, 10), taking(3, 13)}},
                     .index = {0}});
}

TEST_F(CostModelTest, ARealTierCostsWhatItsConfigurationTook) {
  profile_.placements = {measured_in(machine_.tiers[kSlow])};
  const CostModel costs(graph_, profile_, machine_);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<memory::TierId>{memory::kFastTier, memory::kFastTier}), 2.0);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<memory::TierId>{kSlow, memory::kFastTier}), 2.0 + 3.5);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<memory::TierId>{memory::kFastTier, kSlow}), 2.0 + 5);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, std::vector<memory::TierId>{kSlow, kSlow}), 2.0 + 8);
}

// What was measured there was measured in DRAM.
TEST_F(CostModelTest, AnEmulatedTierCostsTheRuleOnTopOfItsConfiguration) {
  machine_.tiers[kSlow].kind = memory::TierKind::kEmulated;
  profile_.placements = {measured_in(machine_.tiers[kSlow])};
  const CostModel costs(graph_, profile_, machine_);
  const std::vector<memory::TierId> both{kSlow, kSlow};
  const MemorySeconds waits = emulated_seconds(graph_, machine_, costs.traffic(), 0, both);
  EXPECT_DOUBLE_EQ(waits.reading, 3072 / 250.0);
  EXPECT_DOUBLE_EQ(costs.op_seconds(0, both), op_seconds_with(2.0 + 8, waits));
  EXPECT_GT(costs.op_seconds(0, both), 2.0 + 8);
}

TEST_F(CostModelTest, NothingIsEmulatedForRealMemory) {
  const OpTraffic traffic(graph_, 0);
  EXPECT_EQ(emulated_seconds(graph_, machine_, traffic, 0, std::vector<memory::TierId>{kSlow, kSlow}), MemorySeconds{});
}

TEST_F(CostModelTest, APlacementNeverMakesAnOpFaster) {
  auto times = measured_in(machine_.tiers[kSlow]);
  times->distinct[0][1].timing.median = 1;
  profile_.placements = {times};
  EXPECT_DOUBLE_EQ(
      CostModel(graph_, profile_, machine_).op_seconds(0, std::vector<memory::TierId>{kSlow, memory::kFastTier}), 2.0);
}

TEST_F(CostModelTest, TimesInATierThatThisMachineHasNotAreLeftAlone) {
  memory::Tier other = machine_.tiers[kSlow];
  other.write_bandwidth += 1;
  const std::vector<memory::TierId> both{kSlow, kSlow};
  const Seconds by_model = CostModel(graph_, profile_, machine_).op_seconds(0, both);
  profile_.placements = {measured_in(other)};
  EXPECT_DOUBLE_EQ(CostModel(graph_, profile_, machine_).op_seconds(0, both), by_model);
}

TEST_F(CostModelTest, SeveralSlowTiersAddUpEachInItsOwnWay) {
  machine_.tiers.push_back(tier_with(125, 50));
  machine_.tiers.back().name = "slower";
  profile_.placements = {measured_in(machine_.tiers[kSlow])};
  const Seconds written = 2048 * (1.0 / 50 - 1.0 / 500);  // not measured there
  EXPECT_DOUBLE_EQ(CostModel(graph_, profile_, machine_).op_seconds(0, std::vector<memory::TierId>{kSlow, 2}),
                   std::max(2.0 + 3.5, 2048 / 125.0) + written);
}

TEST_F(CostModelTest, RefusesAProfileOfAnotherGraph) {
  profile_.op_seconds = {1.0, 2.0};
  EXPECT_THROW(CostModel(graph_, profile_, machine_), std::logic_error);
}

}  // namespace
}  // namespace sluice::profile
