// Which nodes there are, what firmware says of them, and machines made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "sluice/memory/presets.hpp"
#include "tests/numa/machine_nodes.hpp"

namespace sluice::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NumaTiersInMachine : public ::testing::Test {
 protected:
  static Result<memory::Machine> machine(const std::string& slow, Bytes capacity = 0) {
    return memory::make_machine({.threads = 2, .slow = {{slow, capacity}}});
  }
  static std::string error(const std::string& slow, Bytes capacity = 0) {
    const auto made = machine(slow, capacity);
    return made.ok() ? "no error" : made.error().message;
  }

  MachineNodes nodes_ = machine_nodes();
};

TEST_F(NumaTiersInMachine, NodesAreFound) {
  EXPECT_EQ(nodes_.topology.computing(), std::vector{nodes_.fast.id});
  EXPECT_EQ(nodes_.fast.distance, memory::kLocalDistance);
  EXPECT_EQ(nodes_.slow.distance, 10 + 10 * nodes_.slow.id);
  EXPECT_GT(nodes_.slow.memory, 900 * kMiB);
  EXPECT_LE(nodes_.slow.memory, kGiB);
  EXPECT_GT(nodes_.small.memory, 100 * kMiB);
  EXPECT_LE(nodes_.small.memory, 128 * kMiB);
  for (const memory::NumaNode* node : {&nodes_.fast, &nodes_.slow, &nodes_.small}) {
    EXPECT_TRUE(node->allowed);
    EXPECT_GT(node->free, node->memory / 2);
    EXPECT_LT(node->free, node->memory);
  }
}

TEST_F(NumaTiersInMachine, FiguresAreFirmwaresWhereThereAreAny) {
  const auto made = machine(numa_tier(nodes_.slow));
  ASSERT_TRUE(made.ok()) << made.error().message;
  const memory::Tier& fast = made->tier(memory::kFastTier);
  const memory::Tier& slow = made->tier(1);
  EXPECT_EQ(slow.node, nodes_.slow.id);
  EXPECT_EQ(fast.node, nodes_.fast.id);
  EXPECT_NEAR(static_cast<double>(slow.capacity), static_cast<double>(nodes_.slow.free), 64.0 * kMiB);
  if (nodes_.memoryless) {
    EXPECT_EQ(slow.provenance, memory::Provenance::kGiven);
    EXPECT_NEAR(fast.read_bandwidth / slow.read_bandwidth, 3, 1e-9);  // by the distance of node 2
    return;
  }
  EXPECT_EQ(fast.provenance, memory::Provenance::kFirmware);
  EXPECT_EQ(slow.provenance, memory::Provenance::kFirmware);
  EXPECT_NEAR(fast.latency, 90e-9, 1e-12);
  EXPECT_NEAR(slow.latency, 200e-9, 1e-12);
  EXPECT_NEAR(fast.read_bandwidth, 34e9, 1.5e9);  // QEMU and the kernel count in binary megabytes
  EXPECT_NEAR(slow.read_bandwidth, 19e9, 1e9);
  EXPECT_NEAR(slow.write_bandwidth, 19e9, 1e9);
}

TEST_F(NumaTiersInMachine, BothNodesCanBeNamed) {
  const auto made = machine("numa:" + std::to_string(nodes_.slow.id) + "," + std::to_string(nodes_.small.id));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->tier(memory::kFastTier).node, nodes_.slow.id);
  EXPECT_EQ(made->tier(1).node, nodes_.small.id);
  ASSERT_TRUE(made->link_between(0, 1) && made->link_between(1, 0));
}

TEST_F(NumaTiersInMachine, BadNodesAreExplained) {
  EXPECT_THAT(error("numa:9"), AllOf(HasSubstr("node 9 does not exist"), HasSubstr("choose from: 0, ")));
  EXPECT_THAT(error(numa_tier(nodes_.fast)), HasSubstr("is where the compute threads run"));
  EXPECT_THAT(error("numa:2,2"), HasSubstr("as the fast tier and as the slow one"));
  EXPECT_THAT(error(numa_tier(nodes_.small), kGiB), AllOf(HasSubstr("1.00 GiB of memory node"), HasSubstr("are free")));
  if (nodes_.memoryless) {
    EXPECT_THAT(error("numa:" + std::to_string(*nodes_.memoryless)), HasSubstr("has processors but no memory"));
  }
}

TEST_F(NumaTiersInMachine, ThreadsOnTwoNodesLeaveTheFastOneOpen) {
  if (!nodes_.memoryless) GTEST_SKIP() << "this machine has processors on one node";
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int processor = 0; processor < 3; ++processor) CPU_SET(processor, &all);
  ASSERT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_THAT(error(numa_tier(nodes_.slow)), HasSubstr("may run on memory nodes 0, 1"));
  EXPECT_TRUE(machine("numa:0," + std::to_string(nodes_.slow.id)).ok());
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace sluice::tests
