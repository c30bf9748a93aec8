#include "sluice/planners/joint/on_processors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/planners/registry/offload_for_tests.hpp"
#include "sluice/planners/registry/smallest_budget.hpp"

namespace sluice::planners {
namespace {

using testing::config_of;
using ::testing::HasSubstr;
using testing::offload_network;
using testing::OffloadProblem;

constexpr std::string_view kFree = "joint:additions=processors";

// An update takes `seconds`, on the device as on the host; any op of the passes 1 ms.
OffloadProblem with_long_updates(Seconds seconds = 4e-3) {
  OffloadProblem problem(offload_network(graph::Precision::kBF16Masters, graph::Optimizer::kAdam, 4));
  for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) {
    problem.profile.op_seconds[as_index(op)] = graph::is_update(problem.graph.op(op).kind) ? seconds : 1e-3;
  }
  return problem;
}

TEST(JointOnProcessors, GivesUpdatesToAHostThatHidesThem) {
  const OffloadProblem problem = with_long_updates();
  const plan::Plan alone = problem.plan(kGiB, "joint").value(), free = problem.plan(kGiB, kFree).value();
  EXPECT_LT(free.predicted_step_seconds, 0.9 * alone.predicted_step_seconds);
  EXPECT_LE(free.predicted_step_seconds, problem.plan(kGiB, "zero-offload").value().predicted_step_seconds);
  EXPECT_THAT(config_of(free, "processors"), HasSubstr("zero-offload:checkpoints=0:share="));
  EXPECT_EQ(config_of(alone, "processors"), "") << "nobody asked";
}

// Some of the updates on either side take less than all on one.
TEST(JointOnProcessors, LeavesTheDeviceAShareOfWhatNothingHides) {
  const OffloadProblem problem = with_long_updates(20e-3);
  EXPECT_THAT(config_of(problem.plan(kGiB, kFree).value(), "processors"),
              ::testing::AnyOf(HasSubstr("share=75"), HasSubstr("share=50"), HasSubstr("share=25")));
}

TEST(JointOnProcessors, KeepsAllOnTheMainOneWhereAHostIsSlow) {
  OffloadProblem problem(offload_network(graph::Precision::kBF16Masters, graph::Optimizer::kAdam));
  for (memory::Link& link : problem.machine.links) link.bandwidth = 1e5;
  const plan::Plan plan = problem.plan(kGiB, kFree).value();
  EXPECT_EQ(config_of(plan, "processors"), "all updates on the main one");
  for (const plan::OpPlacement& op : plan.ops) EXPECT_EQ(op.processor, kMainProcessor);
}

TEST(JointOnProcessors, FitsWhereZeroOffloadDoes) {
  const OffloadProblem problem(offload_network(graph::Precision::kBF16Masters, graph::Optimizer::kAdam, 4));
  const Bytes least =
      smallest_feasible_bytes(
          "zero-offload",
          {.graph = problem.graph, .profile = problem.profile, .machine = problem.machine, .budgets = {kGiB, kGiB}})
          .value();
  EXPECT_TRUE(problem.plan(least, kFree).ok());
}

// What another backend's kernels cannot read stays where it is.
TEST(JointOnProcessors, LeavesTheMainOneWhatOthersHaveNoKernelsFor) {
  OffloadProblem problem = with_long_updates();
  problem.machine = memory::make_machine({.threads = 1, .slow = {{"file", kGiB}}}).value();
  ASSERT_TRUE(memory::add_processors({{"device", 1, {}}, {"second", 1, {}}}, problem.machine).ok());
  graph::OpIndex without = -1;
  for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) {
    if (graph::is_update(problem.graph.op(op).kind)) without = op;
  }
  problem.graph.op(without).no_kernel_on = {1};
  const plan::Plan plan = problem.plan(kGiB, kFree).value();
  EXPECT_THAT(config_of(plan, "processors"), HasSubstr("12 of 13 updates on others, by updates on second"));
}

TEST(JointOnProcessors, LeavesProcessorsThatSomebodyHasChosen) {
  OffloadProblem problem = with_long_updates();
  problem.machine = memory::make_machine({.threads = 1, .slow = {{"file", kGiB}}}).value();
  ASSERT_TRUE(memory::add_processors({{"device", 1, {}}, {"second", 1, {}}}, problem.machine).ok());
  for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) {
    if (problem.graph.op(op).phase == graph::Phase::kForward) problem.graph.op(op).processor = 1;
  }
  EXPECT_EQ(config_of(problem.plan(kGiB, kFree).value(), "processors"), "");
}

}  // namespace
}  // namespace sluice::planners
