// Plans by prices: sound, never worse than sentinel's by the simulator, the same each time.
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/plan/verify/verifier.hpp"
#include "sluice/planners/joint/list_schedule.hpp"
#include "sluice/planners/problem_for_tests.hpp"
#include "sluice/testing/random_graph.hpp"

namespace sluice {
namespace {

std::vector<MovingUnit> units_of(const PlanningProblem& problem) {
  std::vector<MovingUnit> units = find_moving_units(problem.graph, analyze_liveness(problem.graph));
  for (MovingUnit& unit : units) unit.slow = {.id = 1, .outward = 1, .inward = 0};
  return units;
}

// With all gaps cut: what the lanes do with the room that is left.
TEST(ListSchedule, CopiesHaveRoomAndOrder) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const PlanningProblem problem(testing::random_graph(seed, {.most_bytes = 300 * kTensorAlignment}), "file", 1e9);
    const OpIndex ops = problem.graph.op_count();
    const CostModel costs(problem.graph, problem.profile, problem.machine);
    const std::vector<MovingUnit> units = units_of(problem);
    std::vector<Gap> gaps = find_gaps(units, ops, 0, true);
    ReservationTable all(ops, Bytes{1} << 40);
    cut_all(units, gaps, ops, all);
    Bytes needed = 0;
    for (OpIndex op = 0; op < ops; ++op) needed = std::max(needed, all.used(op));
    const Bytes capacity = needed + needed / 8;
    ReservationTable table(ops, capacity);
    cut_all(units, gaps, ops, table);
    const Seconds seconds = list_schedule(units, costs, ops, gaps, table);
    Seconds compute = 0;
    for (OpIndex op = 0; op < ops; ++op) compute += costs.op_seconds(op);
    EXPECT_GE(seconds, compute * (1 - 1e-9));
    for (OpIndex op = 0; op < ops; ++op) EXPECT_LE(table.used(op), capacity) << op;
    for (const Gap& gap : gaps) {
      if (!gap.cut) continue;
      EXPECT_GT(gap.tail_end, gap.previous_use);
      EXPECT_LE(gap.window_begin, gap.next_use);
      EXPECT_TRUE(gap.wraps || gap.tail_end < gap.window_begin) << "or it might as well stay";
    }
  }
}

TEST(ListSchedule, WithRoomForAllNothingIsAway) {
  const PlanningProblem problem(merged_model("resnet20", 4, 32), "file", 1e9);
  const OpIndex ops = problem.graph.op_count();
  const CostModel costs(problem.graph, problem.profile, problem.machine);
  const std::vector<MovingUnit> units = units_of(problem);
  std::vector<Gap> gaps = find_gaps(units, ops, 0);
  ReservationTable table(ops, Bytes{1} << 40);
  cut_all(units, gaps, ops, table);
  list_schedule(units, costs, ops, gaps, table);
  EXPECT_TRUE(std::ranges::all_of(gaps, [](const Gap& gap) { return gap.wraps || !gap.cut; }));
}

TEST(Joint, IsNeverPredictedSlowerThanSentinel) {
  int faster = 0;
  for (const char* model : {"resnet20", "mobilenet_v2", "vgg11"}) {
    for (const double share : {0.35, 0.6}) {
      SCOPED_TRACE(std::string(model) + " " + std::to_string(share));
      const PlanningProblem problem(merged_model(model, 8, 32), "file", 1e9);
      const PlanRequest request = problem.request(share);
      const auto joint = make_plan("joint", request);
      const auto sentinel = make_plan("sentinel", request);
      ASSERT_TRUE(joint.ok() || !sentinel.ok()) << joint.error().message;
      if (!joint.ok()) continue;
      EXPECT_TRUE(verify_plan(problem.graph, problem.machine, *joint).empty());
      if (!sentinel.ok()) continue;
      EXPECT_LE(joint->predicted_step_seconds, sentinel->predicted_step_seconds);
      faster += joint->predicted_step_seconds < 0.99 * sentinel->predicted_step_seconds ? 1 : 0;
    }
  }
  EXPECT_GT(faster, 0) << "prices are good for something";
}

TEST(Joint, MakesTheSamePlanAgain) {
  const PlanningProblem problem(merged_model("mobilenet_v2", 4, 32), "file", 1e9);
  const Plan first = make_plan("joint", problem.request(0.5)).value();
  const Plan second = make_plan("joint", problem.request(0.5)).value();
  EXPECT_EQ(first.migrations, second.migrations);
  EXPECT_EQ(first.residencies, second.residencies);
  EXPECT_EQ(first.planner_config, second.planner_config);
}

}  // namespace
}  // namespace sluice
