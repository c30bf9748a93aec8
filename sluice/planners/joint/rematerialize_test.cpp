// What joint makes again: where it pays, nothing else, and every value as before.
#include "sluice/planners/joint/rematerialize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/plan/verify/same_values.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/testing/random/random_graph.hpp"

namespace sluice::planners {
namespace {

enum class Wide : std::uint8_t { kKept, kRematerialized };

// x (1 MiB) > wide (100 MiB) > narrow > crowd, which takes 100 MiB itself > end, which reads wide again. kRematerialized:
// made anew directly before.
graph::Graph wide_over_a_crowd(graph::OpKind makes_wide = graph::OpKind::kRelu, Wide at_the_end = Wide::kKept) {
  graph::Graph graph;
  const auto tensor = [&](const char* name, Bytes bytes, graph::Role role = graph::Role::kActivation) {
    return graph.add_tensor({.name = name, .shape = {bytes / 4}, .role = role});
  };
  const graph::TensorId x = tensor("x", kMiB, graph::Role::kParameter), wide = tensor("wide", 100 * kMiB);
  const graph::TensorId narrow = tensor("narrow", kMiB), crowd = tensor("crowd", 100 * kMiB);
  const graph::TensorId after = tensor("after", kMiB), end = tensor("end", kMiB, graph::Role::kOutput);
  graph.add_op({.name = "wide", .kind = makes_wide, .inputs = {x}, .outputs = {wide}});
  graph.add_op({.name = "narrow", .kind = graph::OpKind::kUnary, .inputs = {wide}, .outputs = {narrow}});
  graph.add_op({.name = "crowd", .kind = graph::OpKind::kUnary, .inputs = {narrow}, .outputs = {crowd}});
  graph.add_op({.name = "after", .kind = graph::OpKind::kUnary, .inputs = {crowd}, .outputs = {after}});
  graph::TensorId read = wide;
  if (at_the_end == Wide::kRematerialized) {
    read = tensor("wide.again", 100 * kMiB);
    graph.add_op({.name = "wide.again", .kind = makes_wide, .inputs = {x}, .outputs = {read}});
  }
  graph.add_op({.name = "end", .kind = graph::OpKind::kAdd, .inputs = {read, after}, .outputs = {end}});
  return graph;
}

struct WideProblem {
  explicit WideProblem(Seconds making, graph::Graph step = wide_over_a_crowd())
      : problem(std::move(step), "file", 1e9) {
    problem.profile.op_seconds.assign(problem.graph.ops().size(), 1e-3);
    for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) {
      if (problem.graph.op(op).kind == problem.graph.op(0).kind) problem.profile.op_seconds[as_index(op)] = making;
    }
  }
  PlanRequest request(Bytes fast) const {
    return {problem.graph, problem.profile, problem.machine, {fast, Bytes{1} << 40}};
  }
  PlanningProblem problem;
};

TEST(Rematerialize, InsteadOfFetchingWhatIsQuickToMake) {
  const WideProblem quick(1e-3);
  const auto schedules = rematerialize(quick.request(104 * kMiB));
  ASSERT_EQ(schedules.size(), 2U);
  EXPECT_EQ(schedules[0].schedule, (std::vector<graph::OpIndex>{0, 1, 2, 3, 4}));
  EXPECT_EQ(schedules[1].schedule, (std::vector<graph::OpIndex>{0, 1, 2, 3, 0, 4}));
  EXPECT_GT(schedules[0].bound.seconds, 0.1) << "100 MiB out and in at 1 GB/s";
  EXPECT_NEAR(schedules[1].bound.seconds, 6e-3, 1e-4) << "an op more";
}

TEST(Rematerialize, NothingThatTakesLongerThanItsCopies) {
  const WideProblem slow(1);
  EXPECT_EQ(rematerialize(slow.request(104 * kMiB)).size(), 1U);
}

TEST(Rematerialize, NothingWhereEverythingFits) {
  const WideProblem quick(1e-3);
  EXPECT_EQ(rematerialize(quick.request(300 * kMiB)).size(), 1U);
}

TEST(Rematerialize, KeepsWhatTheGraphMakesAgainWhereItFits) {
  const WideProblem again(1e-3, wide_over_a_crowd(graph::OpKind::kRelu, Wide::kRematerialized));
  const auto roomy = rematerialize(again.request(300 * kMiB));
  ASSERT_EQ(roomy.size(), 2U);
  EXPECT_EQ(roomy[1].schedule, (std::vector<graph::OpIndex>{0, 1, 2, 3, 5}));
  EXPECT_NEAR(roomy[1].bound.seconds, 5e-3, 1e-6) << "an op less";
  EXPECT_EQ(rematerialize(again.request(104 * kMiB)).size(), 1U) << "where it does not fit, it is made again";
}

TEST(Rematerialize, FetchesWhatTakesTheGraphLonger) {
  const WideProblem again(1, wide_over_a_crowd(graph::OpKind::kRelu, Wide::kRematerialized));
  const auto tight = rematerialize(again.request(104 * kMiB));
  ASSERT_EQ(tight.size(), 2U);
  EXPECT_EQ(tight[1].schedule, (std::vector<graph::OpIndex>{0, 1, 2, 3, 5}));
}

TEST(Rematerialize, NothingOfWhatRunsOnce) {
  const WideProblem given(1e-3, wide_over_a_crowd(graph::OpKind::kInput));
  ASSERT_FALSE(graph::may_repeat(graph::OpKind::kInput));
  EXPECT_EQ(rematerialize(given.request(104 * kMiB)).size(), 1U);
}

// What made it is overwritten by the time it would be made again.
TEST(Rematerialize, NothingWhoseOperandsHaveChanged) {
  graph::Graph graph = wide_over_a_crowd();
  const graph::TensorId x = graph.op(0).inputs[0];
  graph.op(3).outputs.push_back(x);
  const WideProblem changed(1e-3, std::move(graph));
  EXPECT_EQ(rematerialize(changed.request(104 * kMiB)).size(), 1U);
}

TEST(Rematerialize, NothingWithoutPrices) {
  WideProblem quick(1e-3);
  quick.problem.machine.links[1].bandwidth = 0;  // nobody knows what copies take
  EXPECT_TRUE(rematerialize(quick.request(104 * kMiB)).empty());
}

TEST(Rematerialize, LeavesEveryValueAsItIsAndLowersTheBound) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    PlanningProblem problem(testing::random_graph(seed, {.most_bytes = 8 * kMiB}), "file", 3e8, 4e10);
    const auto schedules = rematerialize(problem.request(0.4));
    ASSERT_FALSE(schedules.empty());
    if (schedules.size() == 1) continue;
    ++found;
    EXPECT_LT(schedules[1].bound.seconds, schedules[0].bound.seconds);
    const graph::Rescheduled step = graph::reschedule(problem.graph, schedules[1].schedule).value();
    EXPECT_TRUE(plan::check_same_values(problem.graph, step, 1).empty());
  }
  EXPECT_GT(found, 10);
}

// A network whose expanded activations are cheap to make from narrow ones.
TEST(Rematerialize, MakesMobileNetFaster) {
  const PlanningProblem problem(merged_model("mobilenet_v2", 32, 64), "file", 5e8, 4e10);
  const auto schedules = rematerialize(problem.request(0.3));
  ASSERT_EQ(schedules.size(), 2U);
  EXPECT_LT(schedules[1].bound.seconds, 0.95 * schedules[0].bound.seconds);
}

}  // namespace
}  // namespace sluice::planners
