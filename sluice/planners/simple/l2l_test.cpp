#include <gtest/gtest.h>

#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/registry/smallest_budget.hpp"

namespace sluice::planners {
namespace {

// Whether some op of the layer span, or of the one before or behind it that this one is joined to, uses the tensor.
bool layer_uses(const graph::Liveness& liveness, graph::TensorId id, int span) {
  for (const graph::Use& use : liveness.uses[id]) {
    if (liveness.span_of_op[use.op] == span) return true;
  }
  return false;
}

TEST(L2l, HasEachLayersParametersOnlyWhileTheLayerRuns) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 1e9);
  const graph::Liveness liveness = graph::analyze_liveness(problem.graph);
  for (const char* planner : {"l2l", "l2l:stash=0"}) {
    SCOPED_TRACE(planner);
    const auto plan = make_plan(planner, problem.request(0.9));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    int seen = 0;
    for (const plan::Residency& residency : plan->residencies) {
      const bool persistent = graph::is_persistent(problem.graph.tensor(residency.tensor).role);
      if (!persistent || residency.tier != memory::kFastTier || liveness.uses[residency.tensor].empty()) continue;
      ++seen;
      for (graph::OpIndex op = residency.ops.begin; op < residency.ops.end; ++op) {
        EXPECT_TRUE(layer_uses(liveness, residency.tensor, liveness.span_of_op[op]))
            << problem.graph.tensor(residency.tensor).name << " at op " << op;
      }
    }
    EXPECT_GT(seen, 0);
  }
}

TEST(L2l, ComputeWaitsForEveryTransferAtALayersBorder) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "pcie3", 1e9);
  const graph::Liveness liveness = graph::analyze_liveness(problem.graph);
  const auto plan = make_plan("l2l", problem.request(0.9));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_FALSE(plan->migrations.empty());
  for (const plan::Migration& migration : plan->migrations) {
    if (migration.issue_after == plan::kStepStart) continue;  // what the first layer uses
    EXPECT_EQ(migration.needed_by, migration.issue_after + 1);
    EXPECT_EQ(liveness.spans[liveness.span_of_op[migration.issue_after]].ops.end, migration.needed_by);
  }
}

TEST(L2l, ActivationsLeaveWithTheirLayerOrStay) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 1e9);
  const auto moved_activations = [&](const char* planner) {
    const plan::Plan plan = make_plan(planner, problem.request(1)).value();
    return std::ranges::count_if(plan.migrations, [&](const plan::Migration& each) {
      return !graph::is_persistent(problem.graph.tensor(each.tensor).role);
    });
  };
  EXPECT_GT(moved_activations("l2l"), 0);
  EXPECT_EQ(moved_activations("l2l:stash=0"), 0);
  EXPECT_LT(smallest_feasible_bytes("l2l", problem.request(1)).value(),
            smallest_feasible_bytes("l2l:stash=0", problem.request(1)).value());
}

}  // namespace
}  // namespace sluice::planners
