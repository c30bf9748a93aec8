#include "sluice/sim/simulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/testing/random_graph.hpp"
#include "sluice/testing/random_plan.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice {
namespace {

constexpr Seconds kMicrosecond = 1e-6;
constexpr Seconds kTolerance = 1e-12;

Profile profile_of(const std::vector<Seconds>& microseconds) {
  Profile profile;
  for (const Seconds time : microseconds) profile.op_seconds.push_back(time * kMicrosecond);
  return profile;
}

void expect_span(const Span& span, Seconds begin, Seconds end) {
  EXPECT_NEAR(span.begin, begin * kMicrosecond, kTolerance);
  EXPECT_NEAR(span.end, end * kMicrosecond, kTolerance);
}

// The plan of tiny_step.hpp; a transfer of 8,192 bytes at 1 GB/s takes 8.192 us.
//
//   us        0    4   7   9  12.192      20.384      25.384 26.384
//   compute   |-0--|-1-|-2-|   (stall 11.384)   |--3--|--4--|
//   to file        |--evict x--|
//   to dram                    |--prefetch x----|      (issued at 7, waits for the eviction)
TEST(Simulator, FollowsTheTinyStep) {
  const testing::TinyStep step = testing::tiny_step();
  const Profile profile = profile_of({4, 3, 2, 5, 1});
  const Timeline timeline =
      simulate(lower_plan(step.graph, step.machine, step.plan), CostModel(step.graph, profile, step.machine));
  expect_span(timeline.ops[0], 0, 4);
  expect_span(timeline.ops[1], 4, 7);
  expect_span(timeline.ops[2], 7, 9);
  expect_span(timeline.ops[3], 20.384, 25.384);
  expect_span(timeline.ops[4], 25.384, 26.384);
  expect_span(timeline.transfers[0], 4, 12.192);
  expect_span(timeline.transfers[1], 12.192, 20.384);
  EXPECT_NEAR(timeline.stalls[3], 11.384 * kMicrosecond, kTolerance);
  EXPECT_EQ(timeline.stalls[2], 0);
  EXPECT_NEAR(timeline.stall_seconds, 11.384 * kMicrosecond, kTolerance);
  EXPECT_NEAR(timeline.step_seconds, 26.384 * kMicrosecond, kTolerance);
  EXPECT_EQ(timeline.link_bytes, (std::vector<Bytes>{8192, 8192}));
}

// The same, where a busy outward link costs the ops beside it a quarter of the time they share.
//
//   us        0    4      7.75    10.25
//   compute   |-0--|--1---|---2---|
//   to file        |--evict x------- 12.192
TEST(Simulator, OpsBesideATransferTakeLonger) {
  testing::TinyStep step = testing::tiny_step();
  step.machine.links[0].interference = 0.25e-9;
  const Profile profile = profile_of({4, 3, 2, 5, 1});
  const Timeline timeline =
      simulate(lower_plan(step.graph, step.machine, step.plan), CostModel(step.graph, profile, step.machine));
  expect_span(timeline.ops[0], 0, 4);
  expect_span(timeline.ops[1], 4, 7.75);
  expect_span(timeline.ops[2], 7.75, 10.25);
  expect_span(timeline.transfers[0], 4, 12.192);
  expect_span(timeline.ops[3], 20.384, 25.384);
}

// Two ops; three transfers of 10,000 bytes, 10 us each and 2 us of latency. Link 0 carries one at a time, in lane
// order; t2 goes the other way at once, but only when t0 is done; the step ends with its last transfer.
//
//   us        0          12         24    29 30         36
//   compute   (stall 12) |--0--|--1--|
//   link 0    |----t0----|----t1----|
//   link 1                          (t2 is issued after op 0, done at 17)
//                             17       29
//                             |---t2---|
TEST(Simulator, SharesALinkAndEndsWithTheLastTransfer) {
  Graph graph;
  testing::add_tiny_tensor(graph, "t", Role::kActivation, 10000);
  testing::add_tiny_op(graph, "a", {}, {0});
  testing::add_tiny_op(graph, "b", {}, {0});
  Machine machine = testing::tiny_machine();
  for (Link& link : machine.links) link.latency = 2 * kMicrosecond;
  const Profile profile = profile_of({5, 6});
  Program program;
  program.compute = {{0, {{0, 0}}, {0}}, {1, {{0, 0}}, {}}};
  program.transfers = {{0, 0, {0, 0}, {1, 0}, 10000, kStepStart, {}},
                       {0, 0, {0, 0}, {1, 0}, 10000, kStepStart, {}},
                       {0, 1, {1, 0}, {0, 0}, 10000, 0, {0}}};
  program.lanes = {{0, 1}, {2}};
  const Timeline timeline = simulate(program, CostModel(graph, profile, machine));
  expect_span(timeline.transfers[0], 0, 12);
  expect_span(timeline.transfers[1], 12, 24);
  expect_span(timeline.transfers[2], 17, 29);
  expect_span(timeline.ops[0], 12, 17);
  expect_span(timeline.ops[1], 17, 23);
  EXPECT_NEAR(timeline.step_seconds, 29 * kMicrosecond, kTolerance);
  EXPECT_NEAR(timeline.stall_seconds, (12 + 6) * kMicrosecond, kTolerance);  // at the start, and at the end
  EXPECT_EQ(timeline.link_bytes, (std::vector<Bytes>{20000, 10000}));
}

// An op that writes 10,000 bytes to a tier of 1 GB/s instead of 10 GB/s: 10 us - 1 us longer.
TEST(Simulator, ChargesDirectSlowAccess) {
  Graph graph;
  testing::add_tiny_tensor(graph, "t", Role::kActivation, 10000);
  testing::add_tiny_op(graph, "a", {}, {0});
  Machine machine = testing::tiny_machine(TierKind::kEmulated);
  machine.tiers[0].write_bandwidth = 10e9;
  machine.tiers[1].write_bandwidth = 1e9;
  Program program;
  program.compute = {{0, {{1, 0}}, {}}};
  program.lanes.resize(2);
  const Profile profile = profile_of({5});
  const Timeline timeline = simulate(program, CostModel(graph, profile, machine));
  expect_span(timeline.ops[0], 0, 14);
  EXPECT_EQ(timeline.stall_seconds, 0);
}

TEST(Simulator, KeepsEveryDependencyOfRandomPlans) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = testing::random_graph(seed);
    const Machine machine = testing::random_machine(seed);
    const Program program = lower_plan(graph, machine, testing::random_plan(seed, graph, machine));
    const Profile profile = profile_of(std::vector<Seconds>(graph.ops().size(), 3));
    const Timeline timeline = simulate(program, CostModel(graph, profile, machine));
    const auto end_of = [&](TransferIndex i) { return timeline.transfers[static_cast<std::size_t>(i)].end; };
    Seconds last = 0, stalls = 0, previous_end = 0;
    for (const ComputeInstruction& instruction : program.compute) {
      const Span& span = timeline.ops[static_cast<std::size_t>(instruction.op)];
      for (const TransferIndex wait : instruction.waits) ASSERT_GE(span.begin, end_of(wait));
      ASSERT_GE(span.begin, previous_end);
      stalls += span.begin - previous_end;
      previous_end = span.end;
    }
    for (std::size_t i = 0; i < program.transfers.size(); ++i) {
      const TransferInstruction& transfer = program.transfers[i];
      const Seconds begin = timeline.transfers[i].begin;
      for (const TransferIndex wait : transfer.waits) ASSERT_GE(begin, end_of(wait));
      if (transfer.after_op >= 0) {
        ASSERT_GE(begin, timeline.ops[static_cast<std::size_t>(transfer.after_op)].end);
      }
      last = std::max(last, timeline.transfers[i].end);
    }
    EXPECT_DOUBLE_EQ(timeline.step_seconds, std::max(last, previous_end));
    EXPECT_NEAR(timeline.stall_seconds, stalls + timeline.step_seconds - previous_end, kTolerance);
  }
}

}  // namespace
}  // namespace sluice
