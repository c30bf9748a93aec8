// What the page is told of one small step: memory over time, bars of the timeline, lives of tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/graph/reschedule.hpp"
#include "sluice/report/page/memory_over_step.hpp"
#include "sluice/report/page/slot_times.hpp"
#include "sluice/report/page/tensor_lives.hpp"
#include "sluice/report/page/timeline_bars.hpp"
#include "sluice/sim/plan_costs.hpp"
#include "sluice/sim/simulator.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/random/random_schedule.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct ViewedStep : testing::TinyStep {
  ViewedStep() : testing::TinyStep(testing::tiny_step()) {
    program = program::lower_plan(graph, machine, plan).value();
    const profile::Profile profile = testing::tiny_profile();
    const sim::PlanCosts costs(graph, profile, machine, plan);
    times = sim::simulate(program, costs.costs());
    slots = slot_times_ms(times);
  }

  program::Program program;
  program::StepTimes times;
  std::vector<double> slots;
};

TEST(SlotTimes, NeverFallAndEndWithTheStep) {
  program::StepTimes times;
  times.ops = {{0, 0.004}, {0, 0.001}, {0.004, 0.005}};  // the second on another processor
  times.step_seconds = 0.006;
  EXPECT_EQ(slot_times_ms(times), (std::vector<double>{0, 4, 4, 6}));
}

TEST(MemoryOverStep, IsWhatResidenciesReserve) {
  const ViewedStep step;
  const json tiers = memory_over_step_json(plan::PlanGraph(step.graph, step.plan), step.machine, step.plan, step.slots);
  ASSERT_EQ(tiers.size(), 2U);
  EXPECT_EQ(tiers[0]["tier"], "dram");
  EXPECT_EQ(tiers[0]["budget_bytes"], 20480);
  EXPECT_EQ(tiers[0]["roles"], json({"parameter", "activation", "output"}));
  // w; x, then x and m, m alone beside n, x again beside n, and then x beside the loss, from slot to slot.
  EXPECT_EQ(tiers[0]["bytes"][0], json({4096, 4096, 4096, 4096, 4096}));
  EXPECT_EQ(tiers[0]["bytes"][1], json({8192, 12288, 16384, 12288, 8192}));
  EXPECT_EQ(tiers[0]["ms"], json(std::vector<double>(step.slots.begin(), step.slots.end() - 1)));
  EXPECT_EQ(tiers[0]["peak"]["bytes"], 20480);
  EXPECT_EQ(tiers[0]["peak"]["op"], "second");
  EXPECT_EQ(tiers[1]["roles"], json({"activation"}));
  EXPECT_EQ(tiers[1]["bytes"][0], json({0, 8192, 0}));
}

TEST(TimelineBars, AreTheSpansOfOpsStallsAndTransfers) {
  ViewedStep step;
  step.plan.migrations[0].cause = plan::Cause::kRoomForOthers;
  const json timeline =
      timeline_json(plan::PlanGraph(step.graph, step.plan), step.machine, step.plan, step.program, step.times);
  const json& bars = timeline["bars"];
  EXPECT_DOUBLE_EQ(timeline["step_ms"].get<double>(), step.times.step_seconds * 1e3);
  EXPECT_EQ(timeline["lanes"].size(), 3U);
  EXPECT_EQ(timeline["lanes"][1]["name"], "dram → file");
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < bars["name"].size(); ++i) {
    const std::string kind = timeline["kinds"][bars["kind"][i].get<std::size_t>()];
    by_name[kind + " " + bars["name"][i].get<std::string>()] = i;
    if (i > 0 && bars["lane"][i] == bars["lane"][i - 1]) {
      EXPECT_LE(bars["begin_ms"][i - 1], bars["begin_ms"][i]);
    }
  }
  ASSERT_TRUE(by_name.contains("eviction x"));
  ASSERT_TRUE(by_name.contains("prefetch x"));
  ASSERT_TRUE(by_name.contains("forward use"));
  EXPECT_EQ(bars["bytes"][by_name["eviction x"]], 8192);
  EXPECT_EQ(bars["cause"][by_name["eviction x"]], "others in its room save more copying until it is needed again");
  EXPECT_EQ(bars["tensors"][by_name["forward use"]], json({step.kX, step.kN, step.kLoss}));
  ASSERT_TRUE(by_name.contains("stall waits")) << "the copies take longer than the ops they hide under";
  EXPECT_THAT(bars["cause"][by_name["stall waits"]].get<std::string>(), HasSubstr("use waits for x to come from file"));
}

TEST(TensorLives, TellsWhereAndWhy) {
  const ViewedStep step;
  const json lives = tensor_lives_json(plan::PlanGraph(step.graph, step.plan), step.machine, step.plan, step.slots);
  const json& x = lives[step.kX];
  EXPECT_EQ(x["story"], "evicted after op 0 (make), back before op 3 (use)");
  EXPECT_EQ(
      x["places"],
      json({{0, step.slots[0], step.slots[2]}, {1, step.slots[1], step.slots[3]}, {0, step.slots[2], step.slots[5]}}));
  EXPECT_EQ(lives[step.kW]["story"], "stays in dram");
  EXPECT_EQ(largest_tensors_json(lives, 2), json({step.kX, step.kW}));
}

// Copies belong to the tensor that they are made again of, and nothing points outside of what there is.
TEST(TensorLives, CountCopiesWithTheTensorTheyAreMadeAgainOf) {
  std::size_t again = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    const memory::Machine machine = testing::random_machine(seed);
    const std::vector<graph::OpIndex> schedule = testing::random_schedule(graph, seed);
    const graph::Rescheduled step = graph::reschedule(graph, schedule).value();
    plan::Plan plan = testing::random_plan(seed, step.graph, machine);
    plan.schedule = schedule;
    program::StepTimes times;
    for (graph::OpIndex slot = 0; slot < step.graph.op_count(); ++slot)
      times.ops.push_back({slot * 1e-3, (slot + 1) * 1e-3});
    times.step_seconds = static_cast<double>(step.graph.op_count()) * 1e-3;
    const json lives = tensor_lives_json(plan::PlanGraph(graph, plan), machine, plan, slot_times_ms(times));
    ASSERT_EQ(lives.size(), graph.tensors().size());
    std::size_t places = 0;
    for (const json& life : lives) {
      places += life["places"].size();
      again += life["story"].get<std::string>().find("made again by op") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(places, plan.residencies.size());
  }
  EXPECT_GT(again, 0U) << "no schedule repeated anything";
}

}  // namespace
}  // namespace sluice::report
