// Plans of many ops, and with more of something than there can be: how much the verifier says, and how long it takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <limits>
#include <set>

#include "sluice/base/sanitized.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/tiny_step.hpp"

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

// The tiny plan, with more of something than a process can have.
class VerifierLimitsOfPlans : public ::testing::Test {
 protected:
  std::set<std::string> broken() const {
    std::set<std::string> rules;
    for (const Violation& each : verify_plan(step_.graph, step_.machine, step_.plan))
      rules.emplace(to_string(each.rule));
    return rules;
  }
  void expect_only(const std::string& rule) { EXPECT_EQ(broken(), std::set{rule}); }

  testing::TinyStep step_ = testing::tiny_step();
};

TEST_F(VerifierLimitsOfPlans, ArenasAreWholePagesThatAProcessCanHave) {
  for (const Bytes bytes : {Bytes{20481}, Bytes{24575}, Bytes{-4096}, std::numeric_limits<Bytes>::min(),
                            std::numeric_limits<Bytes>::max() / 4096 * 4096, Bytes{1} << 48}) {
    SCOPED_TRACE(bytes);
    step_ = testing::tiny_step();
    step_.plan.budgets[0] = std::numeric_limits<Bytes>::max();
    step_.plan.arena_bytes[0] = bytes;
    expect_only("well-formed");
  }
  step_ = testing::tiny_step();
  step_.plan.budgets[0] = 24575;
  EXPECT_EQ(broken(), std::set<std::string>()) << "a budget may be any number of bytes";
  step_.plan.budgets[0] = -1;
  expect_only("well-formed");
}

TEST_F(VerifierLimitsOfPlans, AnArenaIsWithinItsBudget) {
  step_.plan.arena_bytes[1] = step_.plan.budgets[1] + memory::kBlockAlignment;
  expect_only("within-budget");
}

TEST_F(VerifierLimitsOfPlans, StitchesTakeNoMorePageTablesThanTheyAreWorth) {
  const Bytes arena = step_.plan.arena_bytes[0];
  step_.plan.stitches = {{arena, {{8192, 12288}, {0, 4096}}}};
  EXPECT_EQ(broken(), std::set<std::string>());
  step_.plan.stitches.front().address += Bytes{2} * kMiB;
  expect_only("well-formed");  // addresses that nothing uses
  step_.plan.stitches.front().address = std::numeric_limits<Bytes>::max() / 4096 * 4096;
  expect_only("well-formed");
  step_.plan.stitches.clear();
  for (Bytes address = arena; address < Bytes{1} * kGiB; address += arena) {
    step_.plan.stitches.push_back({address, {{0, arena}}});
  }
  EXPECT_EQ(broken(), std::set<std::string>());
  for (int i = 0; i < 2; ++i) {
    step_.plan.stitches.push_back({memory::stitch_end(step_.plan.stitches.back()), {{0, arena}}});
  }
  expect_only("well-formed");
}

TEST_F(VerifierLimitsOfPlans, StitchesAreNoMoreThanAProcessCanMap) {
  for (Bytes address = step_.plan.arena_bytes[0]; step_.plan.stitches.size() <= 60'000; address += 4096) {
    step_.plan.stitches.push_back({address, {{0, 4096}}});
  }
  expect_only("well-formed");
  step_.plan.stitches.pop_back();
  EXPECT_EQ(broken(), std::set<std::string>());
}

TEST_F(VerifierLimitsOfPlans, SchedulesAreNoLongerThanAnyoneRepeats) {
  for (int slot = 0; slot < 64 * step_.graph.op_count() + 1; ++slot) step_.plan.schedule.push_back(0);
  step_.plan.ops.resize(step_.plan.schedule.size(), step_.plan.ops[0]);
  expect_only("well-formed");
  EXPECT_THAT(verify_plan(step_.graph, step_.machine, step_.plan).front().message,
              ::testing::HasSubstr("more than 64 for each"));
}

}  // namespace
}  // namespace sluice::plan
