// States behind the host's memory: what lies on file, and when it comes and goes.
#include "sluice/planners/zero_offload/offloaded_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/planners/registry/advice.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/offload_for_tests.hpp"
#include "sluice/program/program.hpp"
#include "sluice/testing/program_oracle.hpp"

namespace sluice::planners {
namespace {

using testing::config_of;
using ::testing::HasSubstr;
using testing::offload_network;
using testing::OffloadProblem;

// Of a machine with a file behind the host's memory.
struct FiledProblem : OffloadProblem {
  explicit FiledProblem(graph::Graph step) : OffloadProblem(std::move(step)) {
    machine = memory::make_machine({.threads = 1, .slow = {{"pcie3", kGiB}, {"file", kGiB}}}).value();
    EXPECT_TRUE(memory::add_processors({{"device", 1, {}}, {"host", 1, {"pcie3"}}}, machine).ok());
  }
  Result<plan::Plan> plan(Bytes host) const {
    return make_plan("zero-offload",
                     {.graph = graph, .profile = profile, .machine = machine, .budgets = {kGiB, host, kGiB}});
  }
};

// What else a step may have that keeps something on the host.
std::vector<graph::OptimizerOptions> ways_to_update() {
  const graph::OptimizerOptions adam{.optimizer = graph::Optimizer::kAdam};
  std::vector<graph::OptimizerOptions> ways(6, adam);
  ways[1].clip_norm = 1;
  ways[2].accumulate = 3;
  ways[3].ranks = 4;
  ways[4].delayed = true;
  ways[5] = {.optimizer = graph::Optimizer::kAdam, .delayed = true, .clip_norm = 1, .accumulate = 2};
  return ways;
}

TEST(StatesBehindTheHost, LeaveThePlanAloneWhereTheHostHoldsThem) {
  const graph::Graph graph = offload_network(graph::Precision::kBF16Masters, graph::Optimizer::kAdam);
  const plan::Plan one = OffloadProblem(graph).plan(kGiB).value(), two = FiledProblem(graph).plan(kGiB).value();
  EXPECT_EQ(two.arena_bytes[2], 0);
  EXPECT_EQ(one.residencies, two.residencies);
  EXPECT_EQ(one.migrations, two.migrations);
  EXPECT_EQ(config_of(two, "on_file"), "");
}

TEST(StatesBehindTheHost, KeepItsLimitAndCrossTheDevicesLinkNoMoreThanBefore) {
  for (const graph::OptimizerOptions& way : ways_to_update()) {
    const FiledProblem problem(offload_network(graph::Precision::kBF16Masters, way, 2));
    const plan::Plan all = problem.plan(kGiB).value();
    int planned = 0;
    for (const double share : {0.9, 0.7, 0.5, 0.35, 0.2}) {
      const Bytes host =
          align_down(static_cast<Bytes>(share * static_cast<double>(all.arena_bytes[1])), memory::kBlockAlignment);
      const Result<plan::Plan> plan = problem.plan(host);
      if (!plan.ok()) {
        EXPECT_THAT(plan.error().message, HasSubstr("--finer-slices"));
        continue;
      }
      ++planned;
      EXPECT_LE(plan->arena_bytes[1], host);
      EXPECT_GT(plan->arena_bytes[2], 0);
      EXPECT_EQ(config_of(*plan, "link_bytes_per_parameter"), config_of(all, "link_bytes_per_parameter"));
      const program::Program program = program::lower_plan(problem.graph, problem.machine, *plan).value();
      EXPECT_EQ(testing::find_race(plan::PlanGraph(problem.graph, *plan).graph(), program, 1), std::nullopt);
    }
    EXPECT_GE(planned, 2) << "delay " << way.delayed << ", clip " << way.clip_norm << ", " << way.accumulate
                          << " batches, " << way.ranks << " ranks";
  }
}

// Masters and moments, 12 bytes a parameter, are read and written in a step.
TEST(StatesBehindTheHost, AreReadAndWrittenOnceAStep) {
  const FiledProblem problem(offload_network(graph::Precision::kBF16Masters, graph::Optimizer::kAdam, 3));
  const Bytes all = problem.plan(kGiB).value().arena_bytes[1];
  const plan::Plan plan = problem.plan(align_down(all * 45 / 100, memory::kBlockAlignment)).value();
  Bytes read = 0, written = 0, filed = 0;
  for (const plan::Migration& each : plan.migrations) {
    const Bytes bytes = problem.graph.tensor(each.tensor).bytes;
    if (plan.residencies[each.from].tier == 2) read += bytes;
    if (plan.residencies[each.to].tier == 2) written += bytes;
  }
  for (const plan::Residency& each : plan.residencies)
    filed += each.tier == 2 ? problem.graph.tensor(each.tensor).bytes : 0;
  EXPECT_GT(filed, all / 2);
  EXPECT_EQ(read, filed);
  EXPECT_EQ(written, filed);
  EXPECT_EQ(config_of(plan, "on_file").substr(0, 5), format_bytes(filed).substr(0, 5));
}

// Where reads, updates and writes take about as long, all three together take little longer than one of them.
TEST(StatesBehindTheHost, AreReadUpdatedAndWrittenAtOnce) {
  constexpr BytesPerSecond kFile = 5e8;
  constexpr Seconds kUpdate = 1e-4;
  FiledProblem problem(offload_network(graph::Precision::kBF16Masters, graph::Optimizer::kAdam, 4));
  for (memory::Link& link : problem.machine.links) {
    link = {.from = link.from, .to = link.to, .bandwidth = memory::joins_slow_tiers(link) ? kFile : 1e12};
  }
  Seconds updates = 0;
  for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) {
    const bool update = graph::is_update(problem.graph.op(op).kind);
    problem.profile.op_seconds[as_index(op)] = update ? kUpdate : 1e-8;
    updates += update ? kUpdate : 0;
  }
  const Bytes all = problem.plan(kGiB).value().arena_bytes[1];
  const plan::Plan plan = problem.plan(align_down(all * 45 / 100, memory::kBlockAlignment)).value();
  Seconds files = 0;
  for (const plan::Migration& each : plan.migrations) {
    const bool filed = plan.residencies[each.from].tier + plan.residencies[each.to].tier == 3;
    files += filed ? static_cast<double>(problem.graph.tensor(each.tensor).bytes) / kFile : 0;
  }
  EXPECT_GT(files, updates);
  EXPECT_LT(plan.predicted_step_seconds, 0.55 * (files + updates));
}

TEST(StatesBehindTheHost, NeedAFile) {
  const OffloadProblem problem(offload_network(graph::Precision::kBF16Masters, graph::Optimizer::kAdam, 3));
  const PlanRequest request{
      .graph = problem.graph, .profile = problem.profile, .machine = problem.machine, .budgets = {kGiB, 400 * kKiB}};
  const Result<plan::Plan> plan = make_plan("zero-offload", request);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(advised("zero-offload", request, plan.error()).message, HasSubstr("name a further one with --slow"));
}

}  // namespace
}  // namespace sluice::planners
