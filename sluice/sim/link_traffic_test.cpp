#include "sluice/sim/link_traffic.hpp"

#include <gtest/gtest.h>

#include "sluice/testing/tiny_step.hpp"

namespace sluice::sim {
namespace {

constexpr Seconds kPicosecond = 1e-12;

// Links 0 and 1 join two tiers at 1 GB/s; both busy, each keeps this share of it.
struct TwoLinks {
  explicit TwoLinks(double shared, Seconds interference = 0) : machine(testing::tiny_machine()) {
    for (memory::Link& link : machine.links) {
      link.shared_bandwidth = shared * link.bandwidth;
      link.interference = interference;
    }
  }

  graph::Graph graph;
  profile::Profile profile;
  memory::Machine machine;
};

profile::Load load_of(Bytes bytes) { return {.tensor = 0, .bytes = bytes}; }

// 2 us alone, then half the speed until the other link is done, then alone again.
TEST(LinkTraffic, BothWaysShareOneDevice) {
  const TwoLinks links(0.5);
  const profile::CostModel costs(links.graph, links.profile, links.machine);
  LinkTraffic traffic(costs, 2);
  traffic.start(0, load_of(10000), 0);
  traffic.share(0);
  EXPECT_NEAR(traffic.end(0), 10e-6, kPicosecond);
  traffic.start(1, load_of(1000), 2e-6);
  traffic.share(2e-6);
  EXPECT_NEAR(traffic.end(1), 4e-6, kPicosecond);
  EXPECT_NEAR(traffic.end(0), 18e-6, kPicosecond) << "8 us left, at half the speed";
  EXPECT_EQ(traffic.first_to_end(), 1);
  traffic.finish(1);
  traffic.share(4e-6);
  EXPECT_FALSE(traffic.is_busy(1));
  EXPECT_EQ(traffic.end(1), kNever);
  EXPECT_NEAR(traffic.end(0), 11e-6, kPicosecond);
  EXPECT_EQ(traffic.next_end(), traffic.end(0));
}

TEST(LinkTraffic, LinksOfTheirOwnDevicesDoNotSlowEachOther) {
  const TwoLinks links(1);
  const profile::CostModel costs(links.graph, links.profile, links.machine);
  LinkTraffic traffic(costs, 2);
  for (const memory::LinkId link : {0, 1}) traffic.start(link, load_of(10000), 0);
  const Seconds alone = traffic.end(0);
  traffic.share(5e-6);
  EXPECT_EQ(traffic.end(0), alone);
  EXPECT_EQ(traffic.first_to_end(), 0) << "the lower of two that end together";
}

// A quarter of compute for each of two links at full speed, half of that where they share a device.
TEST(LinkTraffic, WhatLinksTakeFromComputeMultiplies) {
  for (const double shared : {1.0, 0.5}) {
    const TwoLinks links(shared, 0.25e-9);
    const profile::CostModel costs(links.graph, links.profile, links.machine);
    LinkTraffic traffic(costs, 2);
    EXPECT_EQ(traffic.compute_speed(), 1);
    traffic.start(0, load_of(10000), 0);
    EXPECT_DOUBLE_EQ(traffic.compute_speed(), 0.75);
    traffic.start(1, load_of(10000), 0);
    traffic.share(0);
    EXPECT_DOUBLE_EQ(traffic.compute_speed(), (1 - 0.25 * shared) * (1 - 0.25 * shared));
  }
}

TEST(LinkTraffic, ComputeKeepsALeastShare) {
  const TwoLinks links(1, 1e-9);  // a link takes all of it
  const profile::CostModel costs(links.graph, links.profile, links.machine);
  LinkTraffic traffic(costs, 2);
  traffic.start(0, load_of(10000), 0);
  EXPECT_EQ(traffic.compute_speed(), profile::kLeastComputeSpeed);
  EXPECT_EQ(LinkTraffic(costs, 0).next_end(), kNever);
  EXPECT_FALSE(LinkTraffic(costs, 0).first_to_end());
}

}  // namespace
}  // namespace sluice::sim
