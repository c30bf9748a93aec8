#include "sluice/sim/simulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/lane_order.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::sim {
namespace {

constexpr Seconds kMicrosecond = 1e-6;
constexpr Seconds kTolerance = 1e-12;

profile::Profile profile_of(const std::vector<Seconds>& microseconds) {
  profile::Profile profile;
  for (const Seconds time : microseconds) profile.op_seconds.push_back(time * kMicrosecond);
  return profile;
}

void expect_span(const program::Span& span, Seconds begin, Seconds end) {
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
  const profile::Profile profile = profile_of({4, 3, 2, 5, 1});
  const program::StepTimes timeline = simulate(program::lower_plan(step.graph, step.machine, step.plan).value(),
                                               profile::CostModel(step.graph, profile, step.machine));
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

// The same, where a busy outward link takes a quarter of the time of the ops beside it.
//
//   us        0    4      8       10.667
//   compute   |-0--|--1---|---2---|
//   to file        |--evict x------- 12.192
TEST(Simulator, OpsBesideATransferTakeLonger) {
  testing::TinyStep step = testing::tiny_step();
  step.machine.links[0].interference = 0.25e-9;
  const profile::Profile profile = profile_of({4, 3, 2, 5, 1});
  const program::StepTimes timeline = simulate(program::lower_plan(step.graph, step.machine, step.plan).value(),
                                               profile::CostModel(step.graph, profile, step.machine));
  expect_span(timeline.ops[0], 0, 4);
  expect_span(timeline.ops[1], 4, 8);
  expect_span(timeline.ops[2], 8, 8 + 2 / 0.75);
  expect_span(timeline.transfers[0], 4, 12.192);
  expect_span(timeline.ops[3], 20.384, 25.384);
}

// The same with x encoded: 4,096 of its 8,192 bytes move, and either way the processor is busy with it for 1 us.
TEST(Simulator, WhatIsEncodedMovesFewerBytesAndTakesTheProcessor) {
  testing::TinyStep step = testing::tiny_step();
  step.plan.residencies[testing::TinyStep::kXFile].encoding = memory::Encoding::kZeroValue;
  for (auto* bytes : {&step.plan.budgets, &step.plan.arena_bytes}) bytes->front() += kMiB;
  profile::Profile profile = profile_of({4, 3, 2, 5, 1});
  profile.encodings = std::make_shared<profile::EncodingFigures>(
      profile::EncodingFigures{.encoded_bytes = {0, 4096, 0, 0, 0}, .zero_value = {8192e6, 8192e6}});
  const program::StepTimes timeline = simulate(program::lower_plan(step.graph, step.machine, step.plan).value(),
                                               profile::CostModel(step.graph, profile, step.machine));
  EXPECT_EQ(timeline.link_bytes, (std::vector<Bytes>{4096, 4096}));
  EXPECT_EQ(timeline.raw_link_bytes, (std::vector<Bytes>{8192, 8192}));
  expect_span(timeline.transfers[0], 4, 4 + 4.096 + 1);
  expect_span(timeline.ops[1], 4, 4 + 3 / (1 - 1 / 5.096));
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
  graph::Graph graph;
  testing::add_tiny_tensor(graph, "t", graph::Role::kActivation, 10000);
  testing::add_tiny_op(graph, "a", {}, {0});
  testing::add_tiny_op(graph, "b", {}, {0});
  memory::Machine machine = testing::tiny_machine();
  for (memory::Link& link : machine.links) link.latency = 2 * kMicrosecond;
  const profile::Profile profile = profile_of({5, 6});
  program::Program program;
  program.compute = {{0, {{0, 0}}, {0}}, {1, {{0, 0}}, {}}};
  program.transfers = {{0, 0, {0, 0}, {1, 0}, 10000, plan::kStepStart, {}},
                       {0, 0, {0, 0}, {1, 0}, 10000, plan::kStepStart, {}},
                       {0, 1, {1, 0}, {0, 0}, 10000, 0, {0}}};
  program.lanes = {{0, 1}, {2}};
  const program::StepTimes timeline = simulate(program, profile::CostModel(graph, profile, machine));
  expect_span(timeline.transfers[0], 0, 12);
  expect_span(timeline.transfers[1], 12, 24);
  expect_span(timeline.transfers[2], 17, 29);
  expect_span(timeline.ops[0], 12, 17);
  expect_span(timeline.ops[1], 17, 23);
  EXPECT_NEAR(timeline.step_seconds, 29 * kMicrosecond, kTolerance);
  EXPECT_NEAR(timeline.stall_seconds, (12 + 6) * kMicrosecond, kTolerance);  // at the start, and at the end
  EXPECT_EQ(timeline.link_bytes, (std::vector<Bytes>{20000, 10000}));
}

program::Program two_lanes(std::vector<program::TransferInstruction> transfers,
                           std::vector<std::vector<program::TransferIndex>> lanes) {
  program::Program program;
  program.compute = {{0, {{0, 0}}, {}}};
  program.transfers = std::move(transfers);
  program.lanes = std::move(lanes);
  return program;
}

graph::Graph one_op() {
  graph::Graph graph;
  testing::add_tiny_tensor(graph, "t", graph::Role::kActivation, 10000);
  testing::add_tiny_op(graph, "a", {}, {0});
  return graph;
}

// Outward 1 GB/s alone and 0.5 beside the other direction, inward 1 and 0.25.
memory::Machine one_device() {
  memory::Machine machine = testing::tiny_machine();
  machine.links[0].shared_bandwidth = 0.5e9;
  machine.links[1].shared_bandwidth = 0.25e9;
  return machine;
}

// t0 moves 4,000 bytes alone, and its other 6,000 in 12 us beside t1. t1 has moved 3,000 of its 4,000 bytes by then,
// another 500 beside t2 (1,000 bytes), and the last 500 alone.
//
//   us        0    4              16   18  18.5
//   outward   |----t0-------------|-t2-|
//   inward         |----t1-----------------|
TEST(Simulator, LinksOfOneDeviceSlowEachOtherDown) {
  const graph::Graph graph = one_op();
  const memory::Machine machine = one_device();
  const profile::Profile profile = profile_of({4});
  const program::Program program = two_lanes({{0, 0, {0, 0}, {1, 0}, 10000, plan::kStepStart, {}},
                                              {0, 1, {1, 0}, {0, 0}, 4000, 0, {}},
                                              {0, 0, {0, 0}, {1, 0}, 1000, plan::kStepStart, {}}},
                                             {{0, 2}, {1}});
  const program::StepTimes timeline = simulate(program, profile::CostModel(graph, profile, machine));
  expect_span(timeline.ops[0], 0, 4);
  expect_span(timeline.transfers[0], 0, 16);
  expect_span(timeline.transfers[1], 4, 18.5);
  expect_span(timeline.transfers[2], 16, 18);
  EXPECT_NEAR(timeline.step_seconds, 18.5 * kMicrosecond, kTolerance);
  EXPECT_NEAR(timeline.stall_seconds, 14.5 * kMicrosecond, kTolerance);
}

// The inward link loses nothing to the outward one, which goes at half speed until 4.
//
//   us        0    4    12
//   outward   |----t0---|
//   inward    |-t1-|
TEST(Simulator, OneDirectionMayGiveWay) {
  const graph::Graph graph = one_op();
  memory::Machine machine = one_device();
  machine.links[1].shared_bandwidth = machine.links[1].bandwidth;
  const profile::Profile profile = profile_of({1});
  const program::Program program = two_lanes(
      {{0, 0, {0, 0}, {1, 0}, 10000, plan::kStepStart, {}}, {0, 1, {1, 0}, {0, 0}, 4000, plan::kStepStart, {}}},
      {{0}, {1}});
  const program::StepTimes timeline = simulate(program, profile::CostModel(graph, profile, machine));
  expect_span(timeline.transfers[0], 0, 12);
  expect_span(timeline.transfers[1], 0, 4);
}

// Interference is by bytes, 0.1 ns each: while 8,000 go out at 0.5 GB/s and 4,000 in at 0.25, the op gets 0.95 x 0.975
// of 16 us; then 0.9 beside the outward link alone.
TEST(Simulator, SlowerTransfersDisturbLess) {
  const graph::Graph graph = one_op();
  memory::Machine machine = one_device();
  for (memory::Link& link : machine.links) link.interference = 0.1e-9;
  const profile::Profile profile = profile_of({16});
  const program::Program program = two_lanes(
      {{0, 0, {0, 0}, {1, 0}, 10000, plan::kStepStart, {}}, {0, 1, {1, 0}, {0, 0}, 4000, plan::kStepStart, {}}},
      {{0}, {1}});
  const program::StepTimes timeline = simulate(program, profile::CostModel(graph, profile, machine));
  expect_span(timeline.ops[0], 0, 16 + (16 - 16 * 0.95 * 0.975) / 0.9);
  expect_span(timeline.transfers[0], 0, 18);
  expect_span(timeline.transfers[1], 0, 16);
}

// 2 ns a byte at 1 GB/s would leave nothing; a little is always left.
TEST(Simulator, TransfersNeverStopAnOp) {
  const graph::Graph graph = one_op();
  memory::Machine machine = one_device();
  for (memory::Link& link : machine.links) link.interference = 2e-9;
  const program::Program program = two_lanes({{0, 0, {0, 0}, {1, 0}, 10000, plan::kStepStart, {}}}, {{0}, {}});
  const profile::Profile profile = profile_of({1});
  expect_span(simulate(program, profile::CostModel(graph, profile, machine)).ops[0], 0, 10 + 1 - 10 * 0.05);
}

// An op that writes 10,000 bytes to a tier of 1 GB/s instead of 10 GB/s: 10 us - 1 us longer.
TEST(Simulator, ChargesDirectSlowAccess) {
  graph::Graph graph;
  testing::add_tiny_tensor(graph, "t", graph::Role::kActivation, 10000);
  testing::add_tiny_op(graph, "a", {}, {0});
  memory::Machine machine = testing::tiny_machine(memory::TierKind::kEmulated);
  machine.tiers[0].write_bandwidth = 10e9;
  machine.tiers[1].write_bandwidth = 1e9;
  program::Program program;
  program.compute = {{0, {{1, 0}}, {}}};
  program.lanes.resize(2);
  const profile::Profile profile = profile_of({5});
  const program::StepTimes timeline = simulate(program, profile::CostModel(graph, profile, machine));
  expect_span(timeline.ops[0], 0, 14);
  EXPECT_EQ(timeline.stall_seconds, 0);
}

void expect_dependencies_kept(const program::Program& program, const program::StepTimes& timeline) {
  const auto end_of = [&](program::TransferIndex i) { return timeline.transfers[as_index(i)].end; };
  Seconds last = 0, stalls = 0, previous_end = 0;
  for (const program::ComputeInstruction& instruction : program.compute) {
    const program::Span& span = timeline.ops[as_index(instruction.op)];
    for (const program::TransferIndex wait : instruction.waits) ASSERT_GE(span.begin, end_of(wait));
    ASSERT_GE(span.begin, previous_end);
    stalls += span.begin - previous_end;
    previous_end = span.end;
  }
  for (std::size_t i = 0; i < program.transfers.size(); ++i) {
    const program::TransferInstruction& transfer = program.transfers[i];
    const Seconds begin = timeline.transfers[i].begin;
    for (const program::TransferIndex wait : transfer.waits) ASSERT_GE(begin, end_of(wait));
    if (transfer.after_op >= 0) {
      ASSERT_GE(begin, timeline.ops[as_index(transfer.after_op)].end);
    }
    last = std::max(last, timeline.transfers[i].end);
  }
  EXPECT_DOUBLE_EQ(timeline.step_seconds, std::max(last, previous_end));
  EXPECT_NEAR(timeline.stall_seconds, stalls + timeline.step_seconds - previous_end, kTolerance);
}

// Every transfer takes as long as its bytes need at the speeds that the busy times of the link back imply.
void expect_every_byte_moved(const program::Program& program, const profile::CostModel& costs,
                             const program::StepTimes& timeline) {
  for (std::size_t i = 0; i < program.transfers.size(); ++i) {
    const program::TransferInstruction& transfer = program.transfers[i];
    const program::Span& span = timeline.transfers[i];
    Seconds beside = 0;
    if (const auto back = costs.shares_with(transfer.link)) {
      for (const program::TransferIndex other : program.lanes[as_index(*back)]) {
        const program::Span& across = timeline.transfers[as_index(other)];
        beside += std::max(0.0, std::min(across.end, span.end) - std::max(across.begin, span.begin));
      }
    }
    const Seconds moved = span.end - span.begin - (1 - costs.shared_speed(transfer.link)) * beside;
    ASSERT_NEAR(moved, costs.transfer_seconds(transfer.link, transfer.bytes), kTolerance) << "transfer " << i;
  }
}

TEST(Simulator, KeepsEveryDependencyOfRandomPlans) {
  int slower = 0;  // steps, by sharing
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    memory::Machine machine = testing::random_machine(seed);
    const program::Program program =
        program::lower_plan(graph, machine, testing::random_plan(seed, graph, machine)).value();
    const profile::Profile profile = profile_of(std::vector<Seconds>(graph.ops().size(), 3));
    const program::StepTimes alone = simulate(program, profile::CostModel(graph, profile, machine));
    expect_dependencies_kept(program, alone);
    ASSERT_EQ(testing::find_out_of_turn(program, alone), std::nullopt);

    for (std::size_t i = 0; i < machine.links.size(); ++i) {
      memory::Link& link = machine.links[i];
      link.shared_bandwidth = link.bandwidth * (i % 2 == 0 ? 0.4 : 0.7);
    }
    const profile::CostModel costs(graph, profile, machine);
    const program::StepTimes shared = simulate(program, costs);
    expect_dependencies_kept(program, shared);
    ASSERT_EQ(testing::find_out_of_turn(program, shared), std::nullopt);
    expect_every_byte_moved(program, costs, shared);
    EXPECT_GE(shared.step_seconds, alone.step_seconds - kTolerance);
    EXPECT_EQ(simulate(program, costs).step_seconds, shared.step_seconds);
    slower += shared.step_seconds > alone.step_seconds ? 1 : 0;
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(slower, 300);
}

}  // namespace
}  // namespace sluice::sim
