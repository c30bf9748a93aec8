#include "sluice/program/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "sluice/base/as_index.hpp"
#include "sluice/base/sanitized.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::program {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::tiny_step;
using testing::TinyStep;

TEST(LowerPlan, GivesOpsTheirOperandsAndWaits) {
  const testing::TinyStep step = testing::tiny_step();
  const Program program = lower_plan(step.graph, step.machine, step.plan).value();
  EXPECT_EQ(program.arena_bytes, step.plan.arena_bytes);
  ASSERT_EQ(program.compute.size(), 5u);
  EXPECT_THAT(program.compute[0].operands, ElementsAre(Location{0, 0}, Location{0, 4096}));
  EXPECT_THAT(program.compute[3].operands, ElementsAre(Location{0, 4096}, Location{0, 16384}, Location{0, 12288}));
  for (const graph::OpIndex op : {0, 1, 2, 4}) EXPECT_THAT(program.compute[as_index(op)].waits, IsEmpty());
  EXPECT_THAT(program.compute[3].waits, ElementsAre(1));  // x is back; that the eviction is done follows
}

TEST(LowerPlan, GivesTransfersTheirLanesAndWaits) {
  const testing::TinyStep step = testing::tiny_step();
  const Program program = lower_plan(step.graph, step.machine, step.plan).value();
  ASSERT_EQ(program.transfers.size(), 2u);
  const TransferInstruction& evict = program.transfers[0];
  EXPECT_EQ(evict.from, (Location{0, 4096}));
  EXPECT_EQ(evict.to, (Location{1, 0}));
  EXPECT_EQ(evict.bytes, 8192);
  EXPECT_EQ(evict.after_op, 0);
  EXPECT_THAT(evict.waits, IsEmpty());
  EXPECT_EQ(program.transfers[1].after_op, 1);
  EXPECT_THAT(program.transfers[1].waits, ElementsAre(0));
  EXPECT_THAT(program.lanes, ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(LowerPlan, SaysWhereTensorsAreBetweenSteps) {
  testing::TinyStep step = testing::tiny_step();
  step.plan.residencies[testing::TinyStep::kWDram].offset = 20480;
  step.plan.arena_bytes[0] = step.plan.budgets[0] = 24576;
  ASSERT_THAT(plan::verify_plan(step.graph, step.machine, step.plan), IsEmpty());
  const Program program = lower_plan(step.graph, step.machine, step.plan).value();
  EXPECT_EQ(program.step_start.at(testing::TinyStep::kW), (Location{0, 20480}));
  EXPECT_EQ(program.step_start.at(testing::TinyStep::kLoss), (Location{0, 12288}));
}

// n takes room that x leaves, so op 2, which writes it, waits for the eviction: a write behind a transfer's read.
TEST(LowerPlan, AnOpWaitsForTheRoomItWrites) {
  testing::TinyStep step = testing::tiny_step();
  step.plan.residencies[testing::TinyStep::kNDram].offset = 8192;  // half of x's room
  step.plan.residencies[testing::TinyStep::kXDramAgain].offset = 20480;
  step.plan.arena_bytes[0] = step.plan.budgets[0] = 28672;
  ASSERT_THAT(plan::verify_plan(step.graph, step.machine, step.plan), IsEmpty());
  const Program program = lower_plan(step.graph, step.machine, step.plan).value();
  EXPECT_THAT(program.compute[2].waits, ElementsAre(0));
}

TEST(LowerPlan, RefusesWhatTheVerifierDoesNotPass) {
  testing::TinyStep step = testing::tiny_step();
  step.plan.residencies[testing::TinyStep::kNDram].offset = 4096;  // on top of x
  const Result<Program> program = lower_plan(step.graph, step.machine, step.plan);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, ErrorCode::kMismatch);
  EXPECT_THAT(program.error().message, HasSubstr("no-overlap: tensor 3 'n'"));
}

// Whether `later` would wait for `wait` anyway, through another of its waits.
bool follows(const Program& program, const std::vector<TransferIndex>& waits, TransferIndex wait) {
  for (const TransferIndex other : waits) {
    const auto& further = program.transfers[as_index(other)].waits;
    if (std::find(further.begin(), further.end(), wait) != further.end() || follows(program, further, wait))
      return true;
  }
  return false;
}

TEST(LowerPlan, WaitsPointBackwardsAndNoneFollowsFromAnother) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    const memory::Machine machine = testing::random_machine(seed);
    const Program program = lower_plan(graph, machine, testing::random_plan(seed, graph, machine)).value();
    for (std::size_t i = 0; i < program.transfers.size(); ++i) {
      const auto& waits = program.transfers[i].waits;
      for (const TransferIndex wait : waits) {
        EXPECT_LT(wait, as_id<TransferIndex>(i));
        EXPECT_FALSE(follows(program, waits, wait));
      }
    }
    for (const ComputeInstruction& instruction : program.compute) {
      for (const TransferIndex wait : instruction.waits) {
        EXPECT_LT(program.transfers[as_index(wait)].after_op, instruction.op);
        EXPECT_FALSE(follows(program, instruction.waits, wait));
      }
    }
  }
}

TEST(LowerPlanCost, ResNet200SizeTakesMilliseconds) {
  std::uint64_t seed = 0;
  graph::Graph graph;
  while (graph.op_count() < 3000) graph = testing::random_graph(seed++, {.most_layers = 1200, .most_bytes = 40960});
  const memory::Machine machine = testing::random_machine(3);
  const plan::Plan plan = testing::random_plan(1, graph, machine);
  const std::clock_t begin = std::clock();  // processor time: machines are shared
  const Program program = lower_plan(graph, machine, plan).value();
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_EQ(program.transfers.size(), plan.migrations.size());
  EXPECT_LT(seconds, 0.25 * kSanitizerSlowdown);  // 0.03 to 0.07 s in a release build
  RecordProperty("milliseconds", static_cast<int>(seconds * 1e3));
}

}  // namespace
}  // namespace sluice::program
