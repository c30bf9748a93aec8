#include "sluice/sim/time_breakdown.hpp"

#include <gtest/gtest.h>

namespace sluice::sim {
namespace {

// Three ops of the main processor and one of another; two transfers.
//
//   time      0    1    2    3    4    5    6    7    8    9   10
//   main      |-0--|    wait t0   |-1--|wait|-3---|      end: t1
//   other               |----- op 2 -------|
//   link      |-------- t0 -------|              |--- t1 -----|
program::Program broken_down_program() {
  program::Program program;
  program.compute = {{.op = 0}, {.op = 1, .waits = {0}}, {.op = 2, .processor = 1}, {.op = 3, .op_waits = {2}}};
  program.transfers.resize(2);
  program.lanes = {{0, 1}};
  return program;
}

program::StepTimes broken_down_times() {
  program::StepTimes times;
  times.ops = {{0, 1}, {4, 5}, {2, 6}, {6, 7.25}};
  times.stalls = {0, 3, 0, 0.75};
  times.transfers = {{0, 4}, {7, 10}};
  times.step_seconds = 10;
  return times;
}

TEST(TimeBreakdown, EveryPartIsWhereItBelongsAndTheyAddUp) {
  const TimeBreakdown times = break_down(broken_down_program(), {false, false, false, true}, broken_down_times());
  EXPECT_DOUBLE_EQ(times.computation, 2);
  EXPECT_DOUBLE_EQ(times.recomputation, 1.25);
  EXPECT_DOUBLE_EQ(times.exposed_transfer, 3 + 2.75);
  EXPECT_DOUBLE_EQ(times.processor_wait, 0.75);
  EXPECT_DOUBLE_EQ(times.other, 0.25);
  EXPECT_DOUBLE_EQ(times.overlapped_transfer, 1 + 0.25);
  EXPECT_DOUBLE_EQ(times.step(), 10);
}

TEST(TimeBreakdown, WithoutTransfersNothingIsExposed) {
  program::Program program = broken_down_program();
  program.compute[1].waits.clear();
  program::StepTimes times = broken_down_times();
  times.transfers.clear();
  times.stalls[1] = 0;
  const TimeBreakdown parts = break_down(program, {}, times);
  EXPECT_DOUBLE_EQ(parts.overlapped_transfer, 0);
  EXPECT_DOUBLE_EQ(parts.recomputation, 0);
  EXPECT_DOUBLE_EQ(parts.exposed_transfer, 0);
  EXPECT_DOUBLE_EQ(parts.step(), 10);
}

TEST(TimeBreakdown, OpsRunAgainAreThoseOfALaterSlot) {
  plan::Plan plan;
  EXPECT_TRUE(ops_run_again(plan).empty());
  plan.schedule = {0, 1, 0, 2};
  EXPECT_EQ(ops_run_again(plan), (std::vector<bool>{false, false, true, false}));
}

}  // namespace
}  // namespace sluice::sim
