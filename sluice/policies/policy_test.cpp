// What all policies have in common: the registry, bad input, charges in seconds, and steps as accesses.
#include "sluice/policies/policy.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/policies/charge.hpp"
#include "sluice/policies/step_accesses.hpp"
#include "sluice/profile/cost_model.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::policies {
namespace {

using testing::TinyStep;

memory::Machine slow_machine() {
  memory::Machine machine = testing::tiny_machine(memory::TierKind::kEmulated);
  machine.tiers[0].read_bandwidth = machine.tiers[0].write_bandwidth = 10e9;
  machine.tiers[1].read_bandwidth = 5e9;
  machine.tiers[1].write_bandwidth = 2e9;
  return machine;
}

TEST(Policies, HaveNamesAndSummaries) {
  std::set<std::string_view> names;
  for (const PolicyEntry& entry : policies()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty());
    EXPECT_EQ(find_policy(entry.name), &entry);
    if (!entry.pages) continue;
    const auto made = make_policy(entry, two_tiers(kMiB, kGiB), entry.pages->defaults);
    EXPECT_TRUE(made.ok());
  }
  EXPECT_EQ(find_policy("sentinel"), nullptr);
  ASSERT_NE(find_policy("dtr"), nullptr);
  EXPECT_FALSE(find_policy("dtr")->pages);
}

TEST(Policies, RefuseWhatMakesNoSense) {
  for (const PolicyEntry& entry : policies()) {
    SCOPED_TRACE(entry.name);
    if (!entry.pages) continue;
    const PolicyTuning& defaults = entry.pages->defaults;
    const auto nothing = make_policy(entry, two_tiers(defaults.page_bytes - 1, 0), defaults);
    ASSERT_FALSE(nothing.ok());
    EXPECT_EQ(nothing.error().code, ErrorCode::kInfeasible);
    EXPECT_NE(nothing.error().message.find("--fast"), std::string::npos);
    PolicyTuning tuning = defaults;
    tuning.copy_threads = 0;
    ASSERT_FALSE(make_policy(entry, two_tiers(kMiB, 0), tuning).ok());
    tuning = defaults;
    tuning.page_bytes = entry.name == "memory-mode" ? 63 : 4095;
    ASSERT_FALSE(make_policy(entry, two_tiers(kMiB, 0), tuning).ok());
    tuning = defaults;
    tuning.scan_period = 0;
    EXPECT_EQ(make_policy(entry, two_tiers(kMiB, 0), tuning).ok(), defaults.scan_period == 0);
  }
}

TEST(Policies, NeedATierTheyCanUse) {
  const PolicyEntry& ial = *find_policy("ial");
  const PolicyEntry& um = *find_policy("um");
  memory::Machine machine = slow_machine();
  EXPECT_TRUE(check_policy_tiers(ial, machine).ok());
  machine.tiers[1].addressable = false;
  EXPECT_EQ(check_policy_tiers(ial, machine).error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(check_policy_tiers(um, machine).ok());
  machine.links.pop_back();
  EXPECT_EQ(check_policy_tiers(um, machine).error().code, ErrorCode::kBadInput);
  machine.tiers.pop_back();
  EXPECT_EQ(check_policy_tiers(um, machine).error().code, ErrorCode::kBadInput);
}

// The rule of planners and of policies is one: everything in slow memory costs every op the same, whether a plan has
// put it there or a policy finds it there.
TEST(Charges, SlowBytesCostWhatTheCostModelSays) {
  const testing::TinyStep step = testing::tiny_step();
  for (const Bytes cache : {Bytes{0}, Bytes{6000}, kMiB}) {
    memory::Machine machine = slow_machine();
    machine.cache_bytes = cache;
    profile::Profile profile;
    profile.op_seconds.assign(step.graph.ops().size(), 1e-6);
    const profile::CostModel costs(step.graph, profile, machine);
    const graph::Liveness liveness = graph::analyze_liveness(step.graph);
    const layout::PageLayout layout = layout::allocation_order_layout(step.graph, liveness);
    const StepAccesses accesses = step_accesses(step.graph, liveness, layout, costs.traffic());
    const PagePolicy& pages = *find_policy("numa-first-touch")->pages;
    const auto policy = pages.make(two_tiers(0, layout.bytes), pages.defaults);
    for (graph::OpIndex op = 0; op < step.graph.op_count(); ++op) {
      memory::MoveList moves;
      const AccessCharge charge = charge_op(*policy, accesses, op, 0, moves);
      const graph::Op& instruction = step.graph.op(op);
      const std::vector<memory::TierId> slow(instruction.inputs.size() + instruction.outputs.size(), 1);
      EXPECT_NEAR(profile::op_seconds_with(costs.op_seconds(op), slow_seconds(machine, charge)),
                  costs.op_seconds(op, slow),
                  2e-9)  // a policy counts whole bytes
          << instruction.name << " with a cache of " << cache;
    }
  }
}

TEST(Charges, TrafficBesideAnOpsOwnCountsAlike) {
  const memory::Machine machine = slow_machine();
  EXPECT_DOUBLE_EQ(slow_seconds(machine, {.slow = {{}, {.extra_read = 5000}}}).reading, 1e-6);
  EXPECT_DOUBLE_EQ(slow_seconds(machine, {.slow = {{}, {.extra_written = 2000}}}).writing, 1e-6 - 0.2e-6);
  EXPECT_DOUBLE_EQ(slow_seconds(machine, {.filled = 10000}).writing, 1e-6);
}

// Links of 1 GB/s; both at once at half of that where they share a device.
TEST(Charges, WaitsAreForTheLongerDirection) {
  memory::Machine machine = slow_machine();
  memory::MoveList moves;
  moves.add({{0, 3000}, kSlowTier, memory::kFastTier});
  moves.add({{4000, 5000}, memory::kFastTier, kSlowTier});
  moves.add({{5000, 9000}, memory::kUntouched, kSlowTier});  // placed: nothing is copied
  std::vector<Bytes> link_bytes;
  memory::add_to_links(machine, moves, link_bytes);
  EXPECT_DOUBLE_EQ(wait_seconds(machine, link_bytes, 1e-6), 4e-6);
  for (memory::Link& link : machine.links) link.shared_bandwidth = 0.5e9;
  EXPECT_DOUBLE_EQ(wait_seconds(machine, link_bytes, 1e-6), 2e-6 + 2e-6 + 1e-6);
  EXPECT_DOUBLE_EQ(wait_seconds(machine, {}, 0), 0);
}

// A third tier's links are beside those of the second.
TEST(Charges, PairsOfTiersCopyBesideEachOther) {
  memory::Machine machine = slow_machine();
  machine.tiers.push_back(machine.tiers[1]);
  machine.links.push_back({.from = 2, .to = 0, .bandwidth = 0.5e9});
  machine.links.push_back({.from = 0, .to = 2, .bandwidth = 0.5e9});
  memory::MoveList moves;
  moves.add({{0, 3000}, kSlowTier, memory::kFastTier});
  moves.add({{3000, 5000}, 2, memory::kFastTier});
  std::vector<Bytes> link_bytes;
  memory::add_to_links(machine, moves, link_bytes);
  EXPECT_DOUBLE_EQ(wait_seconds(machine, link_bytes, 0), 4e-6);
  EXPECT_EQ(memory::copied_by(moves), (memory::Copied{5000, 0}));
}

TEST(StepAccesses, AreTheOperandsWhereTheyLie) {
  const testing::TinyStep step = testing::tiny_step();
  const graph::Liveness liveness = graph::analyze_liveness(step.graph);
  const layout::PageLayout layout = layout::allocation_order_layout(step.graph, liveness);
  const StepAccesses accesses = step_accesses(step.graph, liveness, layout, profile::OpTraffic(step.graph, 0));
  const auto offset = [&](graph::TensorId id) { return layout.offsets[as_index(id)]; };
  ASSERT_EQ(accesses.ops.size(), 5U);
  ASSERT_EQ(accesses.initial.size(), 1U);  // w
  EXPECT_TRUE(accesses.initial[0].writes);
  EXPECT_EQ(accesses.initial[0].bytes, (Interval<Bytes>{0, 4096}));
  ASSERT_EQ(accesses.ops[4].size(), 2U);  // w, x -> w
  EXPECT_TRUE(accesses.ops[4][0].reads);
  EXPECT_TRUE(accesses.ops[4][0].writes);
  EXPECT_TRUE(accesses.ops[4][1].reads);
  EXPECT_FALSE(accesses.ops[4][1].writes);
  EXPECT_EQ(accesses.ops[4][1].bytes,
            (Interval<Bytes>{offset(testing::TinyStep::kX), offset(testing::TinyStep::kX) + 8000}));
}

TEST(StepAccesses, HintsAreTheNextLayers) {
  testing::TinyStep step = testing::tiny_step();
  step.graph.layers = {"one", "two"};
  step.graph.op(3).layer = step.graph.op(4).layer = 1;
  const graph::Liveness liveness = graph::analyze_liveness(step.graph);
  const layout::PageLayout layout = layout::allocation_order_layout(step.graph, liveness);
  const StepAccesses accesses = step_accesses(step.graph, liveness, layout, profile::OpTraffic(step.graph, 0));
  EXPECT_EQ(accesses.upcoming[0].size(), 3U + 2U);       // ops 3 and 4
  EXPECT_EQ(accesses.upcoming[3].size(), 2U + 1U + 2U);  // ops 0, 1 and 2 of the next step
  EXPECT_TRUE(accesses.upcoming[1].empty());
}

}  // namespace
}  // namespace sluice::policies
