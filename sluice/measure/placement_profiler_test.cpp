#include "sluice/measure/placement_profiler.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "sluice/profile/cost_model.hpp"
#include "sluice/testing/mixing_graph.hpp"

namespace sluice::measure {
namespace {

constexpr memory::TierId kSlow = 1;
constexpr Bytes kPlacedBytes = 1000 * kKiB;
constexpr Seconds kRead = 4e-3;   // what the slow tier takes to read a tensor
constexpr Seconds kWrite = 8e-3;  // and to writing one

// Two ops of one signature and one of another, with one input and one output each.
graph::Graph three_ops() {
  graph::Graph graph;
  graph::Tensor tensor;
  tensor.shape = {kPlacedBytes / 4};
  graph::TensorId last = graph.add_tensor(tensor);
  for (int i = 0; i < 3; ++i) {
    graph::Op op;
    op.name = "op" + std::to_string(i);
    op.kind = i < 2 ? graph::OpKind::kRelu : graph::OpKind::kReorder;
    op.inputs = {last};
    op.outputs = {last = graph.add_tensor(tensor)};
    graph.add_op(op);
  }
  return graph;
}

class PlacementProfilerTest : public ::testing::Test {
 protected:
  PlacementProfilerTest() {
    constexpr auto kBytes = static_cast<double>(kPlacedBytes);
    machine_.tiers = {{.name = "dram", .read_bandwidth = 1e30, .write_bandwidth = 1e30},
                      {.name = "slow",
                       .kind = memory::TierKind::kEmulated,
                       .read_bandwidth = kBytes / kRead,
                       .write_bandwidth = kBytes / kWrite,
                       .provenance = memory::Provenance::kEmulated}};
  }
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  profile::ProfileCache open_cache() const {
    return profile::ProfileCache::open(machine_.compute_fingerprint(), folder_);
  }

  memory::Machine machine_;
  testing::MixingGraph compiled_{three_ops()};
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("sluice_placement_" + std::to_string(::getpid()) + "_" +
                                                ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(PlacementProfilerTest, TimesEveryConfiguration) {
  profile::ProfileCache cache = open_cache();
  auto profile = measure_profile(compiled_, machine_, cache);
  ASSERT_TRUE(profile.ok());
  EXPECT_TRUE(profile->placements.empty()) << "only when asked for";
  int last_measured = 0;
  const auto effort =
      measure_placements(compiled_, machine_, cache, *profile, [&](int measured, int) { last_measured = measured; });
  ASSERT_TRUE(effort.ok()) << effort.error().message;
  EXPECT_EQ(effort->ops, 2);
  EXPECT_EQ(effort->measured, 2);
  EXPECT_EQ(effort->configurations, 8);
  EXPECT_EQ(last_measured, 2);
  ASSERT_EQ(profile->placements.size(), 1u);
  const profile::PlacementTimes& times = *profile->placements[0];
  EXPECT_TRUE(times.emulated);
  EXPECT_EQ(times.distinct.size(), 2u);
  EXPECT_EQ(times.of(0), times.of(1)) << "one signature, one measurement";
  const profile::OpConfigurations& of_op = *times.of(2);
  ASSERT_EQ(of_op.size(), 4u);
  for (std::size_t i = 0; i < of_op.size(); ++i) {  // nothing, input, output, both
    EXPECT_EQ(of_op[i].slow, i);
    EXPECT_GE(of_op[i].timing.samples, 3);
  }
}

TEST_F(PlacementProfilerTest, TheCostModelAddsWhatTheTierIsToCost) {
  profile::ProfileCache cache = open_cache();
  auto profile = measure_profile(compiled_, machine_, cache);
  ASSERT_TRUE(profile.ok());
  ASSERT_TRUE(measure_placements(compiled_, machine_, cache, *profile).ok());
  const profile::CostModel costs(compiled_.graph(), *profile, machine_);
  const profile::OpConfigurations& measured = *profile->placements[0]->of(2);
  const std::vector<memory::TierId> tiers{kSlow, kSlow};
  const Seconds difference = measured[3].timing.median - measured[0].timing.median;
  const Seconds in_dram = profile->op_seconds[2] + std::max(0.0, difference);
  // The output's lines are fetched before they are written.
  EXPECT_NEAR(costs.op_seconds(2, tiers), std::max(in_dram, 2 * kRead) + kWrite, 1e-9);
}

TEST_F(PlacementProfilerTest, ASecondRunMeasuresNothing) {
  profile::ProfileCache first_cache = open_cache();
  auto first = measure_profile(compiled_, machine_, first_cache);
  ASSERT_TRUE(measure_placements(compiled_, machine_, first_cache, *first).ok());
  const int ops_run = compiled_.ops_run();
  profile::ProfileCache second_cache = open_cache();
  auto second = measure_profile(compiled_, machine_, second_cache);
  ASSERT_TRUE(second.ok());
  ASSERT_EQ(second->placements.size(), 1u) << "known times are in the profile unasked";
  const auto effort = measure_placements(compiled_, machine_, second_cache, *second);
  ASSERT_TRUE(effort.ok());
  EXPECT_EQ(effort->ops, 2);
  EXPECT_EQ(effort->measured, 0);
  EXPECT_EQ(compiled_.ops_run(), ops_run);
  EXPECT_EQ(second->placements[0]->distinct, first->placements[0]->distinct);
}

TEST_F(PlacementProfilerTest, NeedsASlowTierThatOpsMayAddress) {
  machine_.tiers[kSlow].addressable = false;
  profile::ProfileCache cache = open_cache();
  auto profile = measure_profile(compiled_, machine_, cache);
  const auto effort = measure_placements(compiled_, machine_, cache, *profile);
  ASSERT_FALSE(effort.ok());
  EXPECT_EQ(effort.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace sluice::measure
