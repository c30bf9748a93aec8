// Steps under dtr by given times: worked out by hand, and how they add up.
#include "sluice/sim/dtr_simulator.hpp"

#include <gtest/gtest.h>

#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/seeded_random.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::sim {
namespace {

profile::Profile profile_with(std::vector<Seconds> seconds) {
  profile::Profile profile;
  profile.op_seconds = std::move(seconds);
  return profile;
}

// w, large, a and the loss in slots of 64 bytes, of which there are four: `large` takes three of them, so a goes and is
// made again for the loss.
TEST(DtrSimulator, WhatIsMadeAgainTakesItsTimeBetweenTheOps) {
  graph::Graph graph;
  graph.layers = {"all"};
  const graph::TensorId w = testing::add_tiny_tensor(graph, "w", graph::Role::kParameter, 64);
  const graph::TensorId a = testing::add_tiny_tensor(graph, "a", graph::Role::kActivation, 64);
  const graph::TensorId large = testing::add_tiny_tensor(graph, "large", graph::Role::kActivation, 192);
  const graph::TensorId loss = testing::add_tiny_tensor(graph, "loss", graph::Role::kOutput, 64);
  testing::add_tiny_op(graph, "make", {w}, {a});
  testing::add_tiny_op(graph, "fill", {w, w}, {large});
  testing::add_tiny_op(graph, "use", {a}, {loss});
  const memory::Machine machine = testing::tiny_machine();
  const profile::Profile profile = profile_with({2, 3, 4});
  const profile::CostModel costs(graph, profile, machine);
  const DtrTimeline timeline = simulate_dtr(graph, costs, machine, 256).value();
  EXPECT_EQ(timeline.step.runs_again, 1);
  EXPECT_EQ(timeline.step.evictions, 1);
  EXPECT_EQ(timeline.step.evicted_bytes, 64);
  EXPECT_EQ(timeline.times.step_seconds, 11);
  EXPECT_EQ(timeline.times.ops[1].end, 5);
  EXPECT_EQ(timeline.times.ops[2].begin, 7);
  const TimeBreakdown parts = break_down(timeline.step, timeline.times.step_seconds);
  EXPECT_EQ(parts.computation, 9);
  EXPECT_EQ(parts.recomputation, 2);
  EXPECT_EQ(parts.other, 0);
  EXPECT_EQ(simulate_dtr(graph, costs, machine, 128).error().code, ErrorCode::kNoneFound);
}

TEST(DtrSimulator, TimesOfRandomStepsAddUp) {
  int did = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    testing::SeededRandom random(seed);
    std::vector<Seconds> seconds(graph.ops().size());
    for (Seconds& each : seconds) each = random.between(1, 9);
    const memory::Machine machine = testing::tiny_machine();
    const profile::Profile profile = profile_with(seconds);
    const profile::CostModel costs(graph, profile, machine);
    Bytes everything = 0;
    for (const graph::Tensor& tensor : graph.tensors()) everything += tensor.bytes;
    const auto timeline = simulate_dtr(graph, costs, machine, everything * 2 / 3);
    if (!timeline.ok()) continue;
    ++did;
    Seconds first_runs = 0;
    for (std::size_t op = 0; op < seconds.size(); ++op) {
      const program::Span& span = timeline->times.ops[op];
      first_runs += span.end - span.begin;
      EXPECT_TRUE(span.end == span.begin || span.end - span.begin == seconds[op]) << op;
    }
    EXPECT_EQ(timeline->step.computation, first_runs);
    EXPECT_EQ(timeline->times.step_seconds, timeline->step.computation + timeline->step.recomputation);
    EXPECT_EQ(simulate_dtr(graph, costs, machine, everything * 2 / 3)->times.step_seconds,
              timeline->times.step_seconds);
  }
  EXPECT_GT(did, 10);
}

}  // namespace
}  // namespace sluice::sim
