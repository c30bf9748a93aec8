// What is certified of any order against plans in random orders, with ops run again and left out.
#include "sluice/planners/bound/any_order_bound.hpp"

#include <gtest/gtest.h>

#include "sluice/graph/reschedule.hpp"
#include "sluice/graph/value_numbers.hpp"
#include "sluice/plan/verify/any_order_certificate.hpp"
#include "sluice/planners/bound/bound_for_tests.hpp"
#include "sluice/planners/bound/step_to_bound.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/sim/plan_costs.hpp"
#include "sluice/testing/random/random_schedule.hpp"

namespace sluice::planners {
namespace {

TEST(AnyOrderBound, NoPlanInARandomOrderIsFasterThanAnyPricesProve) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed, {.most_bytes = 100 * memory::kBlockAlignment});
    const memory::Machine machine = disk_machine(seed);
    const profile::Profile profile = times_of(graph, seed);
    const double repeats = seed % 3 == 0 ? 1.5 : 1.0;
    const graph::Rescheduled step = graph::reschedule(graph, testing::random_schedule(graph, seed, repeats)).value();
    plan::Plan plan = testing::random_plan(seed, step.graph, machine);
    plan.graph_fingerprint = graph.fingerprint();
    plan.schedule = step.op_of;
    const sim::PlanCosts planned(graph, profile, machine, plan);
    const Seconds taken =
        sim::simulate(program::lower_plan(graph, machine, plan).value(), planned.costs()).step_seconds;
    certify_any_order(graph, profile, machine, plan, 5);
    ASSERT_LE(plan.lower_bound_seconds, taken);
    if (plan.any_order_prices) {
      ASSERT_DOUBLE_EQ(any_order_bound_by_prices(graph, profile, machine, plan).value(), plan.lower_bound_seconds);
    }
    const profile::CostModel costs(graph, profile, machine);
    const TwoTiers tiers{plan.budgets[memory::kFastTier], two_way_link(costs, machine)};
    const StepToBound bounded(graph, costs, machine, tiers, false);
    const plan::AnyOrder order = plan::find_any_order(graph, bounded.op_seconds);
    for (std::uint64_t turn = 0; turn < 20; ++turn) {
      const plan::StepPrices prices = random_prices(order.epochs(), seed * 100 + turn, turn % 2 == 0 ? 1e-10 : 1e-9);
      ASSERT_LE(plan::certified_any_order_seconds(bounded.step, order, prices).value(), taken) << "prices " << turn;
    }
  }
}

// Plans that fill the budget: in their own order, with updates deferred, with what is made again.
TEST(AnyOrderBound, NoPlannersPlanIsFaster) {
  std::vector<graph::Graph> graphs;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    graphs.push_back(testing::random_graph(seed, {.most_bytes = 100 * memory::kBlockAlignment}));
  }
  for (const char* model : {"resnet20", "mobilenet_v2"}) graphs.push_back(merged_model(model, 4, 32));
  int plans = 0, above_compute = 0;
  for (graph::Graph& graph : graphs) {
    SCOPED_TRACE(graph.name);
    PlanningProblem problem(std::move(graph), "file", 3e8);
    for (memory::Link& link : problem.machine.links) link.latency = 0;  // or it is most of what such small tensors take
    const profile::CostModel costs(problem.graph, problem.profile, problem.machine);
    const PlanRequest request = problem.request(0.6);
    const AnyOrderBound bound =
        any_order_bound(problem.graph, costs, problem.machine, request.budgets, false, kBoundSeconds);
    for (const char* planner : {"sentinel", "deferred-updates", "chen-sqrt", "joint"}) {
      const auto plan = make_plan(planner, request);
      if (!plan.ok()) continue;
      ASSERT_LE(bound.seconds, plan->predicted_step_seconds) << planner;
      ++plans;
    }
    above_compute += bound.prices ? 1 : 0;
  }
  EXPECT_GT(plans, 60);
  EXPECT_GT(above_compute, 20) << "or the bounds say little";
}

// It covers more plans than that of one order, and is the same whatever the plan.
TEST(AnyOrderBound, IsBelowThatOfOneOrder) {
  const PlanningProblem problem(merged_model("resnet20", 64, 32), "file", 3e8);
  plan::Plan plan = make_plan("sentinel", problem.request(0.4)).value();
  certify(problem.graph, problem.profile, problem.machine, plan, kBoundSeconds);
  const Seconds in_order = plan.order_bound_seconds;
  certify_any_order(problem.graph, problem.profile, problem.machine, plan, kBoundSeconds);
  ASSERT_TRUE(plan.any_order_prices);
  EXPECT_LT(plan.lower_bound_seconds, in_order);
  EXPECT_EQ(plan.order_bound_seconds, in_order);
  plan::Plan deferred = make_plan("deferred-updates", problem.request(0.4)).value();
  certify_any_order(problem.graph, problem.profile, problem.machine, deferred, kBoundSeconds);
  EXPECT_DOUBLE_EQ(deferred.lower_bound_seconds, plan.lower_bound_seconds);
  EXPECT_LE(plan.lower_bound_seconds, deferred.predicted_step_seconds);
}

TEST(AnyOrderBound, IsTheComputeTimeWhereEverythingFits) {
  const PlanningProblem problem(merged_model("resnet20", 4, 32), "file", 2e9);
  const profile::CostModel costs(problem.graph, problem.profile, problem.machine);
  Seconds compute = costs.compute_seconds();
  for (const auto& [op, of] : graph::repetitions(problem.graph)) compute -= costs.op_seconds(op);
  const PlanRequest request = problem.request(2);
  const auto bound = any_order_bound(problem.graph, costs, problem.machine, request.budgets, false, kBoundSeconds);
  EXPECT_NEAR(bound.seconds, compute, 1e-2 * compute);
  EXPECT_LE(bound.seconds, compute);
}

// Where ops use the slow tier in place, too: they run.
TEST(AnyOrderBound, HasNoPricesWhereOpsUseSlowMemory) {
  const PlanningProblem problem(merged_model("resnet20", 4, 32), "optane", 2e9);
  const profile::CostModel costs(problem.graph, problem.profile, problem.machine);
  const auto bound =
      any_order_bound(problem.graph, costs, problem.machine, problem.request(0.2).budgets, false, kBoundSeconds);
  EXPECT_FALSE(bound.prices);
  EXPECT_GT(bound.seconds, 0);
  EXPECT_LE(bound.seconds, costs.compute_seconds());
}

}  // namespace
}  // namespace sluice::planners
