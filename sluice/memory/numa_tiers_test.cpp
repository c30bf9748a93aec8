// Decisions on machines that need not exist; tests/numa has one that does.
#include "sluice/memory/numa_tiers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/memory/presets.hpp"
#include "sluice/testing/node_folder.hpp"

namespace sluice::memory {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::NodeFolder;

// Threads on node 0; node 1 is memory only; node 2 has processors but no memory; node 4 belongs to others.
NumaTopology five_nodes() {
  return {{{.id = 0, .memory = 8 * kGiB, .free = 6 * kGiB, .computes = true},
           {.id = 1, .memory = 4 * kGiB, .free = 3 * kGiB, .distance = 20},
           {.id = 2},
           {.id = 3, .memory = 2 * kGiB, .free = 2 * kGiB, .distance = 40},
           {.id = 4, .memory = 2 * kGiB, .free = 2 * kGiB, .allowed = false}}};
}

Tier local_tier() { return {.name = "dram", .read_bandwidth = 40e9, .write_bandwidth = 30e9, .latency = 100e-9}; }

class NumaTiers : public ::testing::Test {
 protected:
  Result<std::vector<Tier>> choose(const std::string& text, Bytes capacity = 0) {
    SLUICE_ASSIGN(NumaRequest request, parse_numa_request(text));
    request.slow_capacity = capacity;
    return choose_numa_tiers(request, topology_, local_tier(), firmware_.path());
  }
  std::string error(const std::string& text, Bytes capacity = 0) {
    const auto tiers = choose(text, capacity);
    if (tiers.ok()) return "no error";
    EXPECT_EQ(tiers.error().code, ErrorCode::kBadInput);
    return tiers.error().message;
  }

  NumaTopology topology_ = five_nodes();
  testing::NodeFolder firmware_;
};

TEST_F(NumaTiers, FastIsWhereTheThreadsRun) {
  const auto tiers = choose("numa:1");
  ASSERT_TRUE(tiers.ok()) << tiers.error().message;
  ASSERT_EQ(tiers->size(), 2U);
  EXPECT_EQ(tiers->at(0).name, "numa:0");
  EXPECT_EQ(tiers->at(0).node, 0);
  EXPECT_EQ(tiers->at(0).capacity, 6 * kGiB);
  EXPECT_EQ(tiers->at(1).name, "numa:1");
  EXPECT_EQ(tiers->at(1).node, 1);
  EXPECT_EQ(tiers->at(1).capacity, 3 * kGiB);
  for (const Tier& tier : *tiers) {
    EXPECT_EQ(tier.kind, TierKind::kNuma);
    EXPECT_TRUE(tier.addressable);
    EXPECT_FALSE(tier.emulated());
  }
}

TEST_F(NumaTiers, BothCanBeNamed) {
  const auto tiers = choose("numa:3,0");
  ASSERT_TRUE(tiers.ok()) << tiers.error().message;
  EXPECT_EQ(tiers->at(0).node, 3);
  EXPECT_EQ(tiers->at(1).node, 0);
}

TEST_F(NumaTiers, NominalFiguresGoByTheDistance) {
  const auto tiers = choose("numa:3");
  EXPECT_DOUBLE_EQ(tiers->at(0).read_bandwidth, 40e9);
  EXPECT_DOUBLE_EQ(tiers->at(1).read_bandwidth, 10e9);
  EXPECT_DOUBLE_EQ(tiers->at(1).write_bandwidth, 7.5e9);
  EXPECT_DOUBLE_EQ(tiers->at(1).latency, 400e-9);
  EXPECT_EQ(tiers->at(1).provenance, Provenance::kGiven);
}

TEST_F(NumaTiers, FirmwareIsBelievedWhereItSpeaksOfBoth) {
  firmware_.write(1, "access0", {0}, {"19000", "9000", "200", "210"});
  EXPECT_EQ(choose("numa:1")->at(1).provenance, Provenance::kGiven);
  firmware_.write(0, "access0", {0}, {"34000", "33000", "90", "95"});
  const auto tiers = choose("numa:1");
  EXPECT_DOUBLE_EQ(tiers->at(0).read_bandwidth, 34e9);
  EXPECT_DOUBLE_EQ(tiers->at(1).read_bandwidth, 19e9);
  EXPECT_DOUBLE_EQ(tiers->at(1).write_bandwidth, 9e9);
  EXPECT_DOUBLE_EQ(tiers->at(1).latency, 200e-9);
  for (const Tier& tier : *tiers) EXPECT_EQ(tier.provenance, Provenance::kFirmware);
}

TEST_F(NumaTiers, GarbageFromFirmwareIsNotBelieved) {
  firmware_.write(0, "access0", {0}, {"34000", "33000", "90", "95"});
  firmware_.write(1, "access0", {0}, {"19000", "lots", "200", "210"});
  const auto tiers = choose("numa:1");
  ASSERT_TRUE(tiers.ok()) << tiers.error().message;
  for (const Tier& tier : *tiers) EXPECT_EQ(tier.provenance, Provenance::kGiven);
  EXPECT_DOUBLE_EQ(tiers->at(0).read_bandwidth, 40e9);
}

TEST_F(NumaTiers, CapacityCanBeGivenUpToWhatTheNodeHas) {
  EXPECT_EQ(choose("numa:1", kGiB)->at(1).capacity, kGiB);
  EXPECT_EQ(choose("numa:1", 4 * kGiB)->at(1).capacity, 4 * kGiB);
  EXPECT_THAT(error("numa:1", 5 * kGiB),
              AllOf(HasSubstr("5.00 GiB"), HasSubstr("node 1"), HasSubstr("4.00 GiB"), HasSubstr("3.00 GiB are free")));
}

TEST_F(NumaTiers, NodesThatCannotBeUsedAreNamed) {
  EXPECT_THAT(error("numa:9"), AllOf(HasSubstr("node 9 does not exist"), HasSubstr("choose from: 0, 1, 3")));
  EXPECT_THAT(error("numa:9,1"), HasSubstr("node 9 does not exist"));
  EXPECT_THAT(error("numa:2"), HasSubstr("node 2 has processors but no memory"));
  EXPECT_THAT(error("numa:4"), AllOf(HasSubstr("node 4"), HasSubstr("cpuset")));
}

TEST_F(NumaTiers, FastAndSlowMustDiffer) {
  EXPECT_THAT(error("numa:1,1"), AllOf(HasSubstr("node 1"), HasSubstr("fast tier and as the slow one")));
  EXPECT_THAT(error("numa:0"), AllOf(HasSubstr("node 0 is where the compute threads run"), HasSubstr("0, 1, 3")));
  topology_.nodes.resize(1);
  EXPECT_THAT(error("numa:0"), AllOf(HasSubstr("one memory node, 0"), HasSubstr("file")));
}

TEST_F(NumaTiers, ThreadsOnSeveralNodesLeaveOpenWhichIsFast) {
  topology_.nodes[3].computes = true;
  EXPECT_THAT(error("numa:1"), AllOf(HasSubstr("nodes 0, 3"), HasSubstr("numa:FAST,SLOW"), HasSubstr("numactl")));
  EXPECT_TRUE(choose("numa:0,1").ok());
}

TEST_F(NumaTiers, ThreadsMayRunWhereThereIsNoMemory) {
  topology_.nodes[0].computes = false;
  topology_.nodes[2].computes = true;
  EXPECT_THAT(error("numa:1"), HasSubstr("node 2 has processors but no memory"));
  EXPECT_TRUE(choose("numa:0,1").ok());
}

TEST_F(NumaTiers, WhatNamesNoNodeIsExplained) {
  for (const std::string text : {"numa", "numa:", "numa:x", "numa:-1", "numa:1,", "numa:,1", "numa:0,1,2", "numa:1x",
                                 "numa:70000", "numa0", "numa: 1"}) {
    ASSERT_TRUE(is_numa_request(text));
    EXPECT_THAT(error(text), AllOf(HasSubstr("'" + text + "'"), HasSubstr("numa:N"))) << text;
  }
  EXPECT_FALSE(is_numa_request("file"));
}

}  // namespace
}  // namespace sluice::memory
