// Plans by prices: sound, never worse than sentinel's by the simulator, the same each time.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/planners/joint/finalists.hpp"
#include "sluice/planners/joint/list_schedule.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/testing/random/random_graph.hpp"

namespace sluice::planners {
namespace {

std::vector<MovingUnit> units_of(const PlanningProblem& problem) {
  std::vector<MovingUnit> units = find_moving_units(problem.graph, graph::analyze_liveness(problem.graph));
  for (MovingUnit& unit : units) unit.slow = {.id = 1, .outward = 1, .inward = 0};
  return units;
}

// With all gaps cut: what the lanes do with the room that is left.
TEST(ListSchedule, CopiesHaveRoomAndOrder) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const PlanningProblem problem(testing::random_graph(seed, {.most_bytes = 300 * memory::kBlockAlignment}), "file",
                                  1e9);
    const graph::OpIndex ops = problem.graph.op_count();
    const profile::CostModel costs(problem.graph, problem.profile, problem.machine);
    const std::vector<MovingUnit> units = units_of(problem);
    std::vector<Gap> gaps = find_gaps(units, ops, 0, true);
    ReservationTable all(ops, Bytes{1} << 40);
    cut_all(units, gaps, ops, all);
    Bytes needed = 0;
    for (graph::OpIndex op = 0; op < ops; ++op) needed = std::max(needed, all.used(op));
    const Bytes capacity = needed + needed / 8;
    ReservationTable table(ops, capacity);
    cut_all(units, gaps, ops, table);
    const Seconds seconds = list_schedule(units, costs, ops, gaps, table, problem.profile.op_seconds);
    Seconds compute = 0;
    for (graph::OpIndex op = 0; op < ops; ++op) compute += costs.op_seconds(op);
    EXPECT_GE(seconds, compute * (1 - 1e-9));
    for (graph::OpIndex op = 0; op < ops; ++op) EXPECT_LE(table.used(op), capacity) << op;
    for (const Gap& gap : gaps) {
      if (!gap.cut) continue;
      EXPECT_GT(gap.tail_end, gap.previous_use);
      EXPECT_LE(gap.window_begin, gap.next_use);
      EXPECT_TRUE(gap.wraps() || gap.tail_end < gap.window_begin) << "or it might as well stay";
    }
  }
}

TEST(ListSchedule, WithRoomForAllNothingIsAway) {
  const PlanningProblem problem(merged_model("resnet20", 4, 32), "file", 1e9);
  const graph::OpIndex ops = problem.graph.op_count();
  const profile::CostModel costs(problem.graph, problem.profile, problem.machine);
  const std::vector<MovingUnit> units = units_of(problem);
  std::vector<Gap> gaps = find_gaps(units, ops, 0);
  ReservationTable table(ops, Bytes{1} << 40);
  cut_all(units, gaps, ops, table);
  list_schedule(units, costs, ops, gaps, table, problem.profile.op_seconds);
  EXPECT_TRUE(std::ranges::all_of(gaps, [](const Gap& gap) { return gap.wraps() || !gap.cut; }));
}

Seconds percentile_90(const PlanRequest& request, const plan::Plan& plan) {
  const sim::Noise noise = judging_noise(request.graph);
  return sim::predict_under_noise(request.graph, request.machine, request.profile, plan, noise)->percentile_90;
}

TEST(Joint, IsNeverPredictedSlowerThanSentinel) {
  int faster = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const PlanningProblem problem(testing::random_graph(seed, {.most_bytes = 8 * kMiB}), "file", 1e9);
    const PlanRequest request = problem.request(0.5);
    const auto joint = make_plan("joint", request);
    const auto sentinel = make_plan("sentinel", request);
    ASSERT_TRUE(joint.ok() || !sentinel.ok()) << joint.error().message;
    if (!joint.ok()) continue;
    EXPECT_TRUE(plan::verify_plan(problem.graph, problem.machine, *joint).empty());
    if (!sentinel.ok()) continue;
    EXPECT_LE(joint->predicted_step_seconds, sentinel->predicted_step_seconds);
    const bool same = joint->migrations == sentinel->migrations && joint->schedule == sentinel->schedule;
    EXPECT_TRUE(same || percentile_90(request, *joint) <= kClearlySteadier * percentile_90(request, *sentinel));
    faster += joint->predicted_step_seconds < 0.99 * sentinel->predicted_step_seconds ? 1 : 0;
  }
  EXPECT_GT(faster, 1) << "prices are good for something";
}

// A network whose updates crowd a few ops, while the link idles under its convolutions.
PlanningProblem dense_behind_convolutions() {
  PlanningProblem problem(merged_model("vgg11", 4, 32), "file", 2e9, 40e9);
  for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) {
    if (to_string(problem.graph.op(op).kind).starts_with("conv2d")) {
      problem.profile.op_seconds[as_index(op)] = 0.02;
    }
  }
  return problem;
}

TEST(Joint, SeeksNothingWhereNothingIsLost) {
  const PlanningProblem problem = dense_behind_convolutions();
  const plan::Plan plan = make_plan("joint", problem.request(1)).value();
  EXPECT_TRUE(plan.schedule.empty());
  EXPECT_TRUE(plan.migrations.empty());
  const auto& said = plan.planner_config;
  EXPECT_TRUE(std::ranges::none_of(said, [](const auto& each) { return each.first == "plans_compared"; }));
}

TEST(Joint, RunsUpdatesLaterWhereThatIsFaster) {
  const PlanningProblem problem = dense_behind_convolutions();
  plan::Plan plan = make_plan("joint", problem.request(0.3)).value();
  EXPECT_FALSE(std::ranges::is_sorted(plan.schedule));
  EXPECT_TRUE(plan::verify_plan(problem.graph, problem.machine, plan).empty());
  EXPECT_LT(plan.predicted_step_seconds, 0.95 * make_plan("sentinel", problem.request(0.3))->predicted_step_seconds);
  certify(problem.graph, problem.profile, problem.machine, plan, 10);
  EXPECT_LE(plan.order_bound_seconds, plan.predicted_step_seconds);
}

// Asks for a plan and stops when so many reports have come.
struct WatchedPlan {
  explicit WatchedPlan(PlanRequest request, std::size_t most_reports) {
    request.watch = std::make_shared<PlanningWatch>(
        PlanningWatch{.progress =
                          [this](double share, const std::optional<Seconds>& so_far) {
                            done.push_back(share);
                            best.push_back(so_far.value_or(1e9));
                          },
                      .stop = [this, most_reports] { return done.size() >= most_reports; }});
    plan = make_plan("joint", request).value();
  }

  bool stopped() const {
    return std::ranges::any_of(plan.planner_config, [](const auto& each) { return each.first == "stopped_early"; });
  }

  std::vector<double> done;
  std::vector<Seconds> best;
  plan::Plan plan;
};

TEST(Joint, StoppedEndsWithTheFastestPlanUntilThen) {
  const PlanningProblem problem = dense_behind_convolutions();
  const WatchedPlan whole(problem.request(0.3), 1000);
  EXPECT_FALSE(whole.stopped());
  EXPECT_EQ(whole.plan.migrations, make_plan("joint", problem.request(0.3))->migrations);
  EXPECT_TRUE(std::ranges::is_sorted(whole.done));
  EXPECT_EQ(whole.done.back(), 1);
  EXPECT_TRUE(std::ranges::is_sorted(whole.best, std::greater()));
  EXPECT_LT(whole.best.back(), whole.best.front()) << "or this shows nothing";
  for (const std::size_t reports : {std::size_t{1}, std::size_t{2}, std::size_t{4}, whole.done.size() - 1}) {
    SCOPED_TRACE(reports);
    const WatchedPlan cut(problem.request(0.3), reports);
    EXPECT_TRUE(cut.stopped());
    EXPECT_TRUE(plan::verify_plan(problem.graph, problem.machine, cut.plan).empty());
    EXPECT_NEAR(cut.plan.predicted_step_seconds, cut.best.back(), 1e-9);
    EXPECT_NEAR(cut.best.back(), whole.best[cut.best.size() - 1], 1e-9);
    EXPECT_LE(cut.done.size(), reports + 2) << "ends soon";
  }
}

// 100 MiB that are quick to make, wanted again behind an op that takes as much itself.
TEST(Joint, MakesAgainWhatIsCheaperToMakeThanToFetch) {
  graph::Graph graph;
  const auto tensor = [&](const char* name, Bytes bytes, graph::Role role = graph::Role::kActivation) {
    return graph.add_tensor({.name = name, .shape = {bytes / 4}, .role = role});
  };
  const graph::TensorId x = tensor("x", kMiB, graph::Role::kParameter), wide = tensor("wide", 100 * kMiB);
  const graph::TensorId crowd = tensor("crowd", 100 * kMiB), after = tensor("after", kMiB), end = tensor("end", kMiB);
  graph.add_op({.name = "wide", .kind = graph::OpKind::kRelu, .inputs = {x}, .outputs = {wide}});
  graph.add_op({.name = "narrow", .kind = graph::OpKind::kUnary, .inputs = {wide}, .outputs = {after}});
  graph.add_op({.name = "crowd", .kind = graph::OpKind::kUnary, .inputs = {after}, .outputs = {crowd}});
  graph.add_op({.name = "uncrowd", .kind = graph::OpKind::kUnary, .inputs = {crowd}, .outputs = {end}});
  graph.add_op({.name = "back", .kind = graph::OpKind::kUnary, .inputs = {wide}, .outputs = {end}});
  PlanningProblem problem(std::move(graph), "file", 1e9);
  problem.profile.op_seconds.assign(problem.graph.ops().size(), 1e-3);
  const PlanRequest request{problem.graph, problem.profile, problem.machine, {210 * kMiB, Bytes{1} << 40}};
  EXPECT_TRUE(make_plan("joint", request)->schedule.empty()) << "room for both";
  const PlanRequest less{problem.graph, problem.profile, problem.machine, {104 * kMiB, Bytes{1} << 40}};
  const auto plan = make_plan("joint", less);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(std::ranges::count(plan->schedule, 0), 2);
}

}  // namespace
}  // namespace sluice::planners
