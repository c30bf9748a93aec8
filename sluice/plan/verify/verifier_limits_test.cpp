// Plans of many ops: how much the verifier says, and how long it takes.
#include <gtest/gtest.h>

#include <ctime>

#include "sluice/base/sanitized.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"

namespace sluice::plan {
namespace {

TEST(VerifierLimits, ReportsAtMostTwenty) {
  const graph::Graph graph = testing::random_graph(5, {.most_layers = 30, .most_bytes = 4096});
  const memory::Machine machine = testing::random_machine(5);
  Plan plan = testing::random_plan(5, graph, machine);
  for (Residency& residency : plan.residencies) residency.offset = 0;
  plan.migrations.clear();
  const auto violations = verify_plan(graph, machine, plan);
  EXPECT_EQ(violations.size(), 20u);
}

TEST(VerifierLimits, ResNet200SizeTakesMilliseconds) {
  std::uint64_t seed = 0;
  graph::Graph graph;
  while (graph.op_count() < 3000) graph = testing::random_graph(seed++, {.most_layers = 1200, .most_bytes = 40960});
  const memory::Machine machine = testing::random_machine(3);
  const Plan plan = testing::random_plan(1, graph, machine);
  ASSERT_GT(plan.residencies.size(), 4000u);
  ASSERT_GT(plan.migrations.size(), 3000u);
  const std::clock_t begin = std::clock();  // processor time: machines are shared
  EXPECT_TRUE(verify_plan(graph, machine, plan).empty());
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 0.25 * kSanitizerSlowdown);  // 0.01 to 0.05 s in a release build
  RecordProperty("milliseconds", static_cast<int>(seconds * 1e3));
}

}  // namespace
}  // namespace sluice::plan
