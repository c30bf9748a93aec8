#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/planners/plan_search.hpp"
#include "sluice/planners/registry/advice.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/registry/registry.hpp"

namespace sluice::planners {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// ResNet-20 whose convolutions have a second implementation: of `workspace` bytes, and `speed` times as fast.
PlanningProblem two_kernels(Bytes workspace, double speed, const std::string& slow = "file") {
  graph::Graph graph = merged_model("resnet20", 8, 32);
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    if (graph.op(op).kind != graph::OpKind::kConv2d) continue;
    graph::Tensor scratch{.name = graph.op(op).name + ".workspace",
                          .shape = {graph::kLeastWorkspace},
                          .dtype = graph::DType::kU8,
                          .role = graph::Role::kWorkspace,
                          .bytes = graph::kLeastWorkspace};
    graph.op(op).outputs.push_back(graph.add_tensor(std::move(scratch)));
    graph.op(op).implementations = {{"slow", 0}, {"fast", workspace}};
  }
  PlanningProblem problem(std::move(graph), slow, 2e9);
  profile::OpTimes times{problem.profile.op_seconds, {}};
  for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) {
    if (problem.graph.op(op).implementations.size() > 1) times.warm[op] /= speed;
  }
  problem.profile.choices[{1, kMainProcessor}] = std::make_shared<profile::OpTimes>(std::move(times));
  return problem;
}

std::string kernels_of(const plan::Plan& plan) {
  const auto found = std::ranges::find(plan.planner_config, "kernels", &std::pair<std::string, std::string>::first);
  return found == plan.planner_config.end() ? "" : found->second;
}

// By rules, by prices and by an integer program: each planner, and what it is without choosing.
struct Choosing {
  const char* planner;
  const char* without;
};

constexpr const char* kHow[] = {"ByRules", "ByPrices", "ByProgram"};

class KernelChoice : public ::testing::TestWithParam<Choosing> {
 protected:
  static Result<plan::Plan> chosen(const PlanRequest& request) { return make_plan(GetParam().planner, request); }
};

INSTANTIATE_TEST_SUITE_P(Planners, KernelChoice,
                         ::testing::Values(Choosing{"kernel-choice", "sentinel"},
                                           Choosing{"joint:additions=kernels", "joint"},
                                           Choosing{"autotm-sync:additions=kernels", "autotm-sync"}),
                         [](const auto& each) { return kHow[each.index]; });

TEST_P(KernelChoice, TakesTheFasterKernelWhereItsWorkspaceFits) {
  const PlanningProblem problem = two_kernels(64 * kKiB, 3);
  const Result<plan::Plan> plan = chosen(problem.request(0.5));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_GT(plan::count_choices(*plan).other_kernels, 10);
  EXPECT_LT(plan->predicted_step_seconds,
            0.95 * make_plan(GetParam().without, problem.request(0.5))->predicted_step_seconds);
  EXPECT_THAT(kernels_of(*plan), HasSubstr("ops by others than the first"));
  const plan::PlanGraph step(problem.graph, *plan);
  for (const graph::Op& op : step.graph().ops()) {
    if (op.implementations.empty() || op.implementations[0].name != "fast") continue;
    EXPECT_EQ(step.graph().tensor(op.outputs.back()).bytes, 64 * kKiB);
  }
}

TEST_P(KernelChoice, LeavesWhatIsNotFasterOrDoesNotFit) {
  // Slower; not faster by more than measurements differ; too large.
  for (const auto& [workspace, speed] :
       {std::pair(64 * kKiB, 0.5), std::pair(64 * kKiB, 1.02), std::pair(64 * kMiB, 3.0)}) {
    const PlanningProblem problem = two_kernels(workspace, speed);
    const Result<plan::Plan> plan = chosen(problem.request(0.4));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan::count_choices(*plan).other_kernels, 0);
    EXPECT_THAT(kernels_of(*plan), HasSubstr("those that ops have anyway"));
  }
}

// The first kernels' workspaces are what does not fit.
TEST_P(KernelChoice, PlansForBudgetsThatTheFirstKernelsCannotDoWith) {
  PlanningProblem problem = two_kernels(0, 0.5);
  for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) {
    auto& known = problem.graph.op(op).implementations;
    if (known.size() < 2) continue;
    known.front().workspace_bytes = 16 * kMiB;
    problem.graph.tensor(problem.graph.op(op).outputs.back()).bytes = 16 * kMiB;
  }
  PlanRequest request = problem.request(1);
  request.budgets[memory::kFastTier] = 12 * kMiB;
  const Result<plan::Plan> without = make_plan(GetParam().without, request);
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(advised(GetParam().without, request, without.error()).message, HasSubstr("--planner kernel-choice"));
  const Result<plan::Plan> plan = chosen(request);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_GT(plan::count_choices(*plan).other_kernels, 10);
}

TEST(KernelChoice, IsNoAdviceWhereWorkspacesAreNotWhatDoesNotFit) {
  const PlanningProblem problem = two_kernels(64 * kKiB, 3);
  PlanRequest request = problem.request(1);
  request.budgets[memory::kFastTier] = kMiB;
  for (const char* planner : {"sentinel", "kernel-choice", "joint", "joint:additions=kernels"}) {
    const Result<plan::Plan> plan = make_plan(planner, request);
    ASSERT_FALSE(plan.ok());
    EXPECT_THAT(plan.error().message, Not(HasSubstr("choose kernels"))) << planner;
  }
}

TEST_P(KernelChoice, AsksNothingOfAProfileWithoutOtherKernels) {
  PlanningProblem problem = two_kernels(64 * kKiB, 3);
  problem.profile.choices.clear();
  const Result<plan::Plan> plan = chosen(problem.request(0.4));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->migrations, make_plan(GetParam().without, problem.request(0.4))->migrations);
}

TEST_P(KernelChoice, AsksForTimesOnlyWhereItChooses) {
  EXPECT_TRUE(chooses_implementations(GetParam().planner));
  EXPECT_FALSE(chooses_implementations(GetParam().without));
  EXPECT_FALSE(chooses_implementations("joint:additions=encode"));
  EXPECT_FALSE(chooses_implementations("oracle"));
}

// Who is given choices for all plans chooses no others.
TEST_P(KernelChoice, LeavesWhatIsChosenForAllPlans) {
  const PlanningProblem problem = two_kernels(64 * kKiB, 3);
  PlanRequest request = problem.request(0.5);
  request.choices.resize(problem.graph.ops().size());
  const auto first =
      std::ranges::find_if(problem.graph.ops(), [](const graph::Op& op) { return op.implementations.size() > 1; });
  request.choices[as_index(first - problem.graph.ops().begin())].implementation = 1;
  const Result<plan::Plan> plan = chosen(request);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan::choices_by_op(*plan, problem.graph).value(), request.choices);
}

TEST(KernelChoiceTrials, EveryPlanOfTheTrialsKeepsTheKernels) {
  const PlanningProblem problem = two_kernels(64 * kKiB, 3, "optane");
  const PlanRequest request = problem.request(0.4);
  const auto search = make_search("kernel-choice", request);
  ASSERT_TRUE(search.ok()) << search.error().message;
  const auto chosen = plan::choices_by_op((*search)->plan(), problem.graph).value();
  int steps = 0;
  while (!(*search)->done()) {
    ASSERT_LT(++steps, 1000);
    EXPECT_EQ(plan::choices_by_op((*search)->plan(), problem.graph).value(), chosen);
    (*search)->observe({.seconds = 1.0 / steps, .stalls = std::vector<Seconds>(problem.graph.ops().size(), 1e-4)});
  }
}

// Whoever plans, the choices that a request makes for all are followed.
TEST(RequestedChoices, AreFollowedByEveryPlanner) {
  PlanningProblem problem = two_kernels(64 * kKiB, 3, "optane");
  problem.machine.processors = {{.name = "device"}, {.name = "host"}};
  PlanRequest request = problem.request(0.6);
  for (const graph::Op& op : problem.graph.ops()) {
    const bool second = op.implementations.size() > 1;
    request.choices.push_back({second ? 1 : 0, op.phase == graph::Phase::kUpdate ? 1 : kMainProcessor});
  }
  int plans = 0;
  for (const PlannerEntry& entry : planners()) {
    SCOPED_TRACE(entry.name);
    PlanRequest asked = request;
    if (entry.name == kBaselinePlanner || entry.name == "chen-sqrt") asked.budgets[memory::kFastTier] *= 2;
    const Result<plan::Plan> plan = make_plan(entry.name, asked);
    if (!plan.ok()) continue;
    ++plans;
    EXPECT_EQ(plan::choices_by_op(*plan, problem.graph).value(), request.choices);
  }
  EXPECT_GE(plans, 7);
}

}  // namespace
}  // namespace sluice::planners
