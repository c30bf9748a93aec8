// Steps under policies that say what the test has them say, computed by hand; then the real policies on random graphs.
#include "sluice/sim/policy_simulator.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::sim {
namespace {

constexpr Seconds kPolicyMicrosecond = 1e-6;
constexpr Seconds kPolicyTolerance = 1e-12;

// Links of 1 GB/s; slow reads cost 1 ns a byte more, slow writes 3.
memory::Machine slow_machine() {
  memory::Machine machine = testing::tiny_machine(memory::TierKind::kEmulated);
  machine.tiers[0].read_bandwidth = machine.tiers[0].write_bandwidth = 1e9;
  machine.tiers[1].read_bandwidth = 0.5e9;
  machine.tiers[1].write_bandwidth = 0.25e9;
  return machine;
}

profile::Profile policy_profile_of(const std::vector<Seconds>& microseconds) {
  profile::Profile profile;
  for (const Seconds time : microseconds) profile.op_seconds.push_back(time * kPolicyMicrosecond);
  return profile;
}

struct TinyRun {
  explicit TinyRun(memory::Machine machine_in = slow_machine())
      : machine(std::move(machine_in)),
        liveness(graph::analyze_liveness(step.graph)),
        layout(layout::allocation_order_layout(step.graph, liveness)),
        profile(policy_profile_of({4, 3, 2, 5, 1})) {}

  PolicyTimeline run(policies::Policy& policy, int steps) {
    return simulate_policy(step.graph, liveness, layout, profile::CostModel(step.graph, profile, machine), machine,
                           policy, steps);
  }

  testing::TinyStep step = testing::tiny_step();
  memory::Machine machine;
  graph::Liveness liveness;
  layout::PageLayout layout;
  profile::Profile profile;
};

// Charges the third op of every step, and copies a byte a nanosecond beside every op.
class ScriptedPolicy : public policies::Policy {
 public:
  explicit ScriptedPolicy(policies::AccessCharge charge, std::vector<memory::RangeMove> before = {},
                          double background = 0)
      : charge_(std::move(charge)), before_(std::move(before)), background_(background) {}

  policies::AccessCharge access(std::span<const policies::Access> /*accesses*/, Seconds now,
                                memory::MoveList& moves) override {
    times.push_back(now);
    const bool charged = calls_ > 0 && (calls_ - 1) % 5 == 2;  // the first call initialises
    ++calls_;
    if (!charged) return {.requested = 100, .found_fast = 100};
    for (const memory::RangeMove& move : before_) moves.add(move);
    return charge_;
  }
  void advance(Seconds from, Seconds to, memory::MoveList& moves) override {
    EXPECT_GE(from, last_);
    last_ = to;
    moves.add({{0, static_cast<Bytes>((to - from) * background_ + 0.5)}, policies::kSlowTier, memory::kFastTier});
  }

  std::vector<Seconds> times;

 private:
  policies::AccessCharge charge_;
  std::vector<memory::RangeMove> before_;
  double background_;
  int calls_ = 0;
  Seconds last_ = 0;
};

//   us        0    4   7        11 13                  18     20.5 ..
//   compute   |-0--|-1-| copies |--2-- slow accesses --|
TEST(PolicySimulator, AddsWaitsAndSlowAccesses) {
  TinyRun tiny;
  ScriptedPolicy policy(
      {.requested = 300,
       .found_fast = 100,
       .slow = {{}, {.read = 1000, .written = 500}},
       .fault_seconds = 1 * kPolicyMicrosecond},
      {{{0, 3000}, policies::kSlowTier, memory::kFastTier}, {{4000, 6000}, memory::kFastTier, policies::kSlowTier}});
  const PolicyTimeline timeline = tiny.run(policy, 2);
  ASSERT_EQ(timeline.ops.size(), 5U);
  const auto expect_span = [&](std::size_t op, Seconds begin, Seconds end) {
    EXPECT_NEAR(timeline.ops[op].span.begin, begin * kPolicyMicrosecond, kPolicyTolerance) << op;
    EXPECT_NEAR(timeline.ops[op].span.end, end * kPolicyMicrosecond, kPolicyTolerance) << op;
  };
  expect_span(0, 0, 4);
  expect_span(1, 4, 7);
  expect_span(2, 11, 14.5);  // waits 3 + 1; takes 2, behind which 2 of reading hide, and 2 - 0.5 of writing
  expect_span(3, 14.5, 19.5);
  expect_span(4, 19.5, 20.5);
  for (const PolicyStep& step : timeline.steps) {
    EXPECT_NEAR(step.step_seconds, 20.5 * kPolicyMicrosecond, kPolicyTolerance);
    EXPECT_NEAR(step.stall_seconds, 4 * kPolicyMicrosecond, kPolicyTolerance);
    EXPECT_EQ(step.bytes_in(), 3000);
    EXPECT_EQ(step.bytes_out(), 2000);
    EXPECT_DOUBLE_EQ(step.locality().by_bytes(), 500.0 / 700);
  }
  EXPECT_NEAR(policy.times[6], 20.5 * kPolicyMicrosecond, kPolicyTolerance);  // one clock over all steps
}

TEST(PolicySimulator, BackgroundCopiesCostTheirInterference) {
  memory::Machine machine = slow_machine();
  machine.links[1].interference = 0.25e-9;
  TinyRun tiny(machine);
  ScriptedPolicy policy({}, {}, 1e9);
  const PolicyTimeline timeline = tiny.run(policy, 1);
  EXPECT_NEAR(timeline.ops[0].span.end, 5 * kPolicyMicrosecond, kPolicyTolerance);
  EXPECT_NEAR(timeline.steps[0].step_seconds, 15 * 1.25 * kPolicyMicrosecond, kPolicyTolerance);
  EXPECT_EQ(timeline.steps[0].beside.in, 15000);
}

TEST(PolicySimulator, TheSteadyStepIsTheMeanOfTheSecondHalf) {
  PolicyTimeline timeline;
  for (const int i : {100, 100, 1, 2, 3}) {
    PolicyStep step;
    step.step_seconds = i;
    step.before.in = 10 * i;
    timeline.steps.push_back(step);
  }
  EXPECT_DOUBLE_EQ(timeline.steady().step_seconds, 2);
  EXPECT_EQ(timeline.steady().bytes_in(), 20);
}

TEST(PolicySimulator, SettlesForAsManyStepsAsPassesTake) {
  EXPECT_EQ(settling_steps({.scan_period = 0}, 1), 8);
  EXPECT_EQ(settling_steps({.scan_period = 0.05}, 0.02), 20);
  EXPECT_EQ(settling_steps({.scan_period = 5}, 0.5), 80);
  EXPECT_EQ(settling_steps({.scan_period = 5}, 0.02), 1000);  // not more, though it takes 2000
}

TEST(PolicySimulator, HasAPageAtLeast) {
  const TinyRun tiny;
  const profile::CostModel costs(tiny.step.graph, tiny.profile, tiny.machine);
  const auto tiny_budget = predict_policy(*policies::choose_pages("ial", 100), tiny.step.graph, costs, tiny.machine);
  ASSERT_FALSE(tiny_budget.ok());
  EXPECT_EQ(tiny_budget.error().code, ErrorCode::kInfeasible);
}

// With room for everything, each policy comes to rest, and a step takes what it takes in fast memory.
TEST(PolicySimulator, WithRoomForAllEveryPolicyComesToRest) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const graph::Graph graph = testing::random_graph(seed);
    const memory::Machine machine = slow_machine();
    const profile::Profile profile{.op_seconds = std::vector<Seconds>(graph.ops().size(), 20 * kPolicyMicrosecond)};
    const profile::CostModel costs(graph, profile, machine);
    for (const policies::PolicyEntry& entry : policies::policies()) {
      if (!entry.pages) continue;
      SCOPED_TRACE(entry.name);
      const auto timeline = predict_policy(*policies::choose_pages(entry.name, 256 * kMiB), graph, costs, machine);
      ASSERT_TRUE(timeline.ok()) << timeline.error().message;
      const PolicyStep step = timeline->steps.back();
      EXPECT_DOUBLE_EQ(step.locality().by_bytes(), 1);
      EXPECT_DOUBLE_EQ(step.locality().by_objects(), 1);
      EXPECT_EQ(step.bytes_in() + step.bytes_out(), 0);
      EXPECT_NEAR(step.step_seconds, std::accumulate(profile.op_seconds.begin(), profile.op_seconds.end(), 0.0), 1e-9);
    }
  }
}

// With less, nobody finds what is not there: what is found fast, used in place or brought adds up, and what goes in had
// gone out or started outside.
TEST(PolicySimulator, BytesAddUpWithLittleRoom) {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const graph::Graph graph = testing::random_graph(seed);
    const memory::Machine machine = slow_machine();
    const profile::Profile profile{.op_seconds = std::vector<Seconds>(graph.ops().size(), 20 * kPolicyMicrosecond)};
    const profile::CostModel costs(graph, profile, machine);
    const Seconds fast = std::accumulate(profile.op_seconds.begin(), profile.op_seconds.end(), 0.0);
    for (const policies::PolicyEntry& entry : policies::policies()) {
      if (!entry.pages) continue;
      SCOPED_TRACE(entry.name);
      const auto timeline = predict_policy(*policies::choose_pages(entry.name, 64 * kKiB), graph, costs, machine);
      ASSERT_TRUE(timeline.ok()) << timeline.error().message;
      for (const PolicyStep& step : timeline->steps) {
        EXPECT_GE(step.step_seconds, fast * (1 - 1e-9));
        EXPECT_LE(step.charge.found_fast, step.charge.requested);
        EXPECT_EQ(step.charge.requested, timeline->steps[0].charge.requested);
        const Bytes copied = step.before.in + step.before.out;
        EXPECT_EQ(
            entry.pages->addressable ? copied : step.charge.slow_in_all().read + step.charge.slow_in_all().written, 0);
      }
    }
  }
}

}  // namespace
}  // namespace sluice::sim
