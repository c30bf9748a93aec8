#include "sluice/sim/locality.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "sluice/base/as_index.hpp"
#include "sluice/sim/simulator.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::sim {
namespace {

constexpr Seconds kLocalMicrosecond = 1e-6;

using T = testing::TinyStep;

// The plan of tiny_step.hpp; x comes back at 20 and op 3 needs it, so op 2 must end at 20 for x to be found.
//
//   op           0 w -> x    1 -> m    2 m -> n    3 x,n -> loss    4 w,x -> w
class TinyLocality : public ::testing::Test {
 protected:
  std::vector<LocalityCount> count(const std::vector<Seconds>& op_ends, const std::vector<Seconds>& transfer_ends) {
    return count_locality(step_.graph, program_, op_ends, transfer_ends);
  }
  testing::TinyStep step_ = testing::tiny_step();
  program::Program program_ = program::lower_plan(step_.graph, step_.machine, step_.plan).value();
};

TEST_F(TinyLocality, WhatIsBroughtInTimeIsFound) {
  const std::vector<LocalityCount> counts = count({4, 7, 20, 25, 26}, {12, 20});
  EXPECT_EQ(counts[0], (LocalityCount{12096, 12096, 2, 2}));
  EXPECT_EQ(counts[3], (LocalityCount{8000 + 4096 + 4, 8000 + 4096 + 4, 3, 3}));
}

TEST_F(TinyLocality, WhatAnOpWaitsForIsNotFoundOnceAndThenFound) {
  const std::vector<LocalityCount> counts = count({4, 7, 19, 25, 26}, {12, 20});
  EXPECT_EQ(counts[3], (LocalityCount{8000 + 4096 + 4, 4096 + 4, 3, 2}));
  EXPECT_EQ(counts[4], (LocalityCount{4096 + 8000, 4096 + 8000, 2, 2})) << "w, read and written, is requested once";
}

// Waiting for room is not waiting for data.
TEST_F(TinyLocality, EvictionsBringNothing) {
  const std::vector<LocalityCount> counts = count({4, 7, 19, 25, 26}, {6, 6.5});
  for (const LocalityCount& each : counts) EXPECT_EQ(each.found, each.requested);
}

TEST_F(TinyLocality, WhatIsUsedInASlowTierIsNotFound) {
  program_.compute[2].operands[0].tier = 1;  // m
  EXPECT_EQ(count({4, 7, 20, 25, 26}, {12, 20})[2], (LocalityCount{8192, 4096, 2, 1}));
}

TEST_F(TinyLocality, MembersOfABlockAreBroughtTogether) {
  program_.transfers[1].others = {{T::kN, 12288}};  // x at 4,096, n at 16,384
  EXPECT_EQ(count({4, 7, 19, 25, 26}, {12, 20})[3].found, 1) << "the loss, which it makes";
}

TEST_F(TinyLocality, NeedsAnEndForEveryInstruction) {
  EXPECT_THROW(count({4, 7}, {12, 20}), std::logic_error);
  EXPECT_THROW(count({4, 7, 20, 25, 26}, {}), std::logic_error);
}

TEST(Locality, CourseIsInEqualPartsOfTheStep) {
  const LocalityCount half{10, 5, 2, 1};
  const LocalityCount all{10, 10, 2, 2};
  const Locality locality = summarise_locality({half, all, all, half}, {0.5, 0.9, 50, 100}, 100);
  EXPECT_EQ(locality.step, (LocalityCount{40, 30, 8, 6}));
  EXPECT_EQ(locality.step.by_bytes(), 0.75);
  ASSERT_EQ(locality.buckets.size(), 3U);
  EXPECT_EQ(locality.buckets[0].count, (LocalityCount{20, 15, 4, 3}));
  EXPECT_EQ(locality.buckets[1].begin, 50);
  EXPECT_EQ(locality.buckets[2].begin, 99) << "the step's last instant belongs to the last part";
  EXPECT_EQ(LocalityCount{}.by_bytes(), 1);
  EXPECT_EQ(summarise_locality({}, {}, 0).buckets.size(), 0U);
}

TEST(Locality, JsonHasTheNumbersAndTheCourse) {
  const nlohmann::json found = locality_json(summarise_locality({{10, 5, 4, 1}}, {2}, 4));
  EXPECT_EQ(found["by_bytes"], 0.5);
  EXPECT_EQ(found["by_objects"], 0.25);
  EXPECT_EQ(found["found_bytes"], 5);
  ASSERT_EQ(found["series"].size(), 1U);
  EXPECT_EQ(found["series"][0]["ms"], 2000);
  EXPECT_EQ(describe_locality({10, 5, 4, 1}), "50.0 % of bytes, 25.0 % of operands found fast");
}

struct RandomStep {
  explicit RandomStep(std::uint64_t seed) : graph(testing::random_graph(seed)) {
    const memory::Machine machine = testing::random_machine(seed);
    program = program::lower_plan(graph, machine, testing::random_plan(seed, graph, machine)).value();
    profile::Profile profile;
    profile.op_seconds.assign(graph.ops().size(), 3 * kLocalMicrosecond);
    timeline = simulate(program, profile::CostModel(graph, profile, machine));
    for (const program::Span& span : timeline.ops) op_ends.push_back(span.end);
    for (const program::Span& span : timeline.transfers) transfer_ends.push_back(span.end);
  }

  // Whether the op has to wait for a transfer that brings one of its inputs.
  bool waits_for_data(std::size_t op) const {
    const Seconds before = op == 0 ? 0 : op_ends[op - 1];
    const std::vector<graph::TensorId>& inputs = graph.ops()[op].inputs;
    return std::ranges::any_of(program.compute[op].waits, [&](program::TransferIndex wait) {
      const program::TransferInstruction& transfer = program.transfers[as_index(wait)];
      const auto input = std::ranges::find(inputs, transfer.tensor);
      return input != inputs.end() && transfer_ends[as_index(wait)] > before &&
             program.compute[op].operands[as_index(input - inputs.begin())] == transfer.to &&
             transfer.to.tier == memory::kFastTier;
    });
  }

  graph::Graph graph;
  program::Program program;
  program::StepTimes timeline;
  std::vector<Seconds> op_ends, transfer_ends;
};

// Beside the same step with transfers that take no time: an op that does not wait misses nothing more, one that waits
// for an input does.
TEST(Locality, AgreesWithTheWaitsOfRandomPlans) {
  int missed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const RandomStep step(seed);
    const auto counts = count_locality(step.graph, step.program, step.op_ends, step.transfer_ends);
    const auto instant =
        count_locality(step.graph, step.program, step.op_ends, std::vector<Seconds>(step.transfer_ends.size(), 0));
    for (std::size_t op = 0; op < counts.size(); ++op) {
      ASSERT_EQ(counts[op].requested_bytes, instant[op].requested_bytes);
      ASSERT_LE(counts[op].found, instant[op].found);
      if (step.timeline.stalls[op] == 0) {
        ASSERT_EQ(counts[op], instant[op]);
      }
      if (!step.waits_for_data(op)) continue;
      ASSERT_LT(counts[op].found, instant[op].found);
      ++missed;
    }
    EXPECT_GT(measure_locality(step.graph, step.program, step.timeline).step.requested, 0);
  }
  EXPECT_GT(missed, 300);
}

}  // namespace
}  // namespace sluice::sim
