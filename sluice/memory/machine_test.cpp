#include "sluice/memory/machine.hpp"

#include <gtest/gtest.h>

namespace sluice::memory {
namespace {

Machine two_tiers() {
  Machine machine;
  machine.cpu = "a CPU";
  machine.threads = 2;
  machine.tiers = {{.name = "dram"}, {.name = "file", .kind = TierKind::kFile, .addressable = false}};
  machine.links = {{.from = 1, .to = 0}, {.from = 0, .to = 1}};
  return machine;
}

TEST(Machine, FindsLinksByDirection) {
  const Machine machine = two_tiers();
  EXPECT_EQ(machine.link_between(1, 0), 0);
  EXPECT_EQ(machine.link_between(0, 1), 1);
  EXPECT_EQ(machine.link_between(0, 2), std::nullopt);
}

TEST(Machine, FindsTheLinkBack) {
  Machine machine = two_tiers();
  EXPECT_EQ(machine.link_back(0), 1);
  EXPECT_EQ(machine.link_back(1), 0);
  machine.links.pop_back();
  EXPECT_EQ(machine.link_back(0), std::nullopt);
}

TEST(Machine, FingerprintIgnoresMeasuredNumbers) {
  Machine measured = two_tiers();
  measured.links[0].bandwidth = 3e9;
  measured.links[0].shared_bandwidth = 2e9;
  measured.tiers[0].read_bandwidth = 40e9;
  measured.tiers[1].capacity = kGiB;
  EXPECT_EQ(measured.fingerprint(), two_tiers().fingerprint());
  EXPECT_EQ(measured.compute_fingerprint(), two_tiers().compute_fingerprint());
}

TEST(Machine, FingerprintSeesWhatAPlanDependsOn) {
  const std::string base = two_tiers().fingerprint();
  Machine other = two_tiers();
  other.threads = 1;
  EXPECT_NE(other.fingerprint(), base);
  EXPECT_NE(other.compute_fingerprint(), two_tiers().compute_fingerprint());
  other = two_tiers();
  other.cpu = "another CPU";
  EXPECT_NE(other.fingerprint(), base);
  other = two_tiers();
  other.tiers[1].addressable = true;
  EXPECT_NE(other.fingerprint(), base);
  EXPECT_EQ(other.compute_fingerprint(), two_tiers().compute_fingerprint());
  other = two_tiers();
  other.tiers[1].kind = TierKind::kEmulated;
  EXPECT_NE(other.fingerprint(), base);
  other = two_tiers();
  std::swap(other.tiers[0], other.tiers[1]);
  EXPECT_NE(other.fingerprint(), base);
  other = two_tiers();
  other.tiers.push_back(other.tiers[1]);
  EXPECT_NE(other.fingerprint(), base);
}

TEST(Machine, FingerprintIsTheSameTextEverywhere) {
  EXPECT_EQ(two_tiers().fingerprint(), "63fe69aa30ee540b44d35e3877dd089a");
}

}  // namespace
}  // namespace sluice::memory
