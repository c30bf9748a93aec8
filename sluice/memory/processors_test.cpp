#include "sluice/memory/processors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/memory/presets.hpp"

namespace sluice::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Processors, AreNamedWithTheirThreadsAndTiers) {
  const auto requests = parse_processors("device:2,host@reference:1:dram+optane");
  ASSERT_TRUE(requests.ok()) << requests.error().message;
  Machine machine = make_machine({.slow = {{"optane", kGiB}, {"file", kGiB}}}).value();
  ASSERT_TRUE(add_processors(*requests, machine).ok());
  EXPECT_EQ(machine.threads, 2);
  EXPECT_EQ(machine.processor_count(), 2u);
  EXPECT_EQ(machine.threads_of(1), 1);
  EXPECT_THAT(machine.processors[1].tiers, ElementsAre(0, 1));
  EXPECT_EQ(describe_processors(machine), "device (2 threads), host (1 thread, backend reference), emulated");
}

TEST(Processors, AddressTheTiersThatTheyAreGiven) {
  Machine machine = make_machine({.slow = {{"optane", kGiB}, {"file", kGiB}}}).value();
  EXPECT_TRUE(machine.addresses(kMainProcessor, 1));
  EXPECT_FALSE(machine.addresses(kMainProcessor, 2));
  ASSERT_TRUE(add_processors({{"device", 1, {"dram"}}, {"host", 1, {}}}, machine).ok());
  EXPECT_FALSE(machine.addresses(0, 1));
  EXPECT_TRUE(machine.addresses(1, 1));
  EXPECT_FALSE(machine.addresses(1, 2)) << "a file is nobody's memory";
}

TEST(Processors, OwnMemoryThatTheMainOneReachesByCopiesAlone) {
  Machine machine = make_machine({.slow = {{"pcie3", kGiB}}}).value();
  ASSERT_TRUE(add_processors({{"device", 1, {"dram"}}, {"host", 1, {"pcie3"}}}, machine).ok());
  EXPECT_FALSE(machine.addresses(0, 1));
  EXPECT_TRUE(machine.addresses(1, 1));
  EXPECT_FALSE(machine.addresses(1, kFastTier));
  EXPECT_TRUE(machine.owns(1, 1));
  EXPECT_FALSE(machine.owns(0, kFastTier)) << "that is everybody's who does not say otherwise";
  Machine other = make_machine({.slow = {{"pcie3", kGiB}}}).value();
  EXPECT_THAT(add_processors({{"device", 1, {"pcie3"}}}, other).error().message,
              HasSubstr("cannot address tier 'pcie3'"));
}

TEST(Processors, ReachTheFilesBehindTheirOwnMemory) {
  Machine machine = make_machine({.slow = {{"pcie3", kGiB}, {"file", kGiB}}, .link_bandwidth = 3e9}).value();
  ASSERT_TRUE(add_processors({{"device", 1, {}}, {"host", 1, {"pcie3"}}, {"other", 1, {"pcie3"}}}, machine).ok());
  ASSERT_EQ(machine.links.size(), 6u) << "one each way, whoever else owns that memory";
  for (const auto& [from, to] : {std::pair{1, 2}, std::pair{2, 1}}) {
    const auto id = machine.link_between(from, to);
    ASSERT_TRUE(id.has_value());
    EXPECT_TRUE(joins_slow_tiers(machine.link(*id)));
    Link like = machine.link(*machine.link_between(from == 1 ? kFastTier : 2, to == 1 ? kFastTier : 2));
    EXPECT_FALSE(joins_slow_tiers(like));
    EXPECT_EQ(machine.link(*id).latency, like.latency);
    EXPECT_EQ(machine.link(*id).interference, like.interference);
    EXPECT_EQ(machine.link(*id).bandwidth, 3e9);
    EXPECT_TRUE(machine.link(*id).throttled);
  }
}

TEST(Processors, JoinNoOtherSlowTiers) {
  const auto links = [](std::vector<SlowTierOptions> slow, const char* own) {
    Machine machine = make_machine({.slow = std::move(slow)}).value();
    EXPECT_TRUE(add_processors({{"device", 1, {}}, {"host", 1, {own}}}, machine).ok());
    return machine.links.size();
  };
  EXPECT_EQ(links({{"file", kGiB}, {"pcie3", kGiB}}, "pcie3"), 4u) << "the file is nearer";
  EXPECT_EQ(links({{"pcie3", kGiB}, {"pmbd", kGiB}}, "pcie3"), 4u) << "no file";
  EXPECT_EQ(links({{"optane", kGiB}, {"file", kGiB}}, "optane"), 4u) << "everybody's memory";
}

TEST(Processors, ChangeWhatAPlanDependsOn) {
  Machine machine = host_machine(1);
  const std::string alone = machine.fingerprint();
  const std::string computes = machine.compute_fingerprint();
  ASSERT_TRUE(add_processors({{"device", 1, {}}, {"host", 1, {}}}, machine).ok());
  EXPECT_NE(machine.fingerprint(), alone);
  EXPECT_EQ(machine.compute_fingerprint(), computes) << "times of the main processor's ops are as they were";
}

TEST(Processors, SayWhatIsWrongWithThem) {
  const auto error = [](const char* text) { return parse_processors(text).error().message; };
  EXPECT_THAT(error("device"), HasSubstr("processor 'device': no name and threads"));
  EXPECT_THAT(error(":1"), HasSubstr("no name and threads"));
  EXPECT_THAT(error("device:0,host:1"), HasSubstr("'0' is no number of threads"));
  EXPECT_THAT(error("device:many"), HasSubstr("'many' is no number of threads"));
  EXPECT_THAT(error("device:1,device:1"), HasSubstr("processor 'device:1': named twice"));
  Machine machine = make_machine({.slow = {{"file", kGiB}}}).value();
  EXPECT_THAT(add_processors({{"host", 1, {"file"}}}, machine).error().message,
              HasSubstr("processor 'host' cannot address tier 'file'; tiers that it may use in place: dram"));
}

}  // namespace
}  // namespace sluice::memory
