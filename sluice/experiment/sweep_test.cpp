#include "sluice/experiment/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "sluice/graph/liveness.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::experiment {
namespace {

using ::testing::HasSubstr;

// A small VGG with op times by the bytes that an op touches, and a slow tier behind a link as slow as makes plans hurt.
class BudgetSweepTest : public ::testing::Test {
 protected:
  BudgetSweepTest() {
    train::WorkloadOptions options;
    options.model = "vgg11";
    options.shape = {.batch = 2, .image_size = 32, .classes = 10, .width = 8};
    workload_ = std::move(train::build_workload(options)).value();
    machine_ = *memory::make_machine({.threads = 1, .slow = {{"pcie3"}}, .link_bandwidth = 0.5e9});
    profile_.graph_fingerprint = workload_.graph().fingerprint();
    profile_.provenance = memory::Provenance::kGiven;
    for (const graph::Op& op : workload_.graph().ops()) {
      Bytes bytes = 0;
      for (const graph::TensorId id : graph::distinct_operands(op)) bytes += workload_.graph().tensor(id).bytes;
      profile_.op_seconds.push_back(1e-5 + static_cast<double>(bytes) * 1e-9);
    }
  }

  train::Workload workload_;
  memory::Machine machine_;
  profile::Profile profile_;
};

TEST_F(BudgetSweepTest, PredictsWhatPlanAndSimulatorSay) {
  BudgetSweep sweep(workload_, machine_, profile_);
  const SweptModel swept = sweep.begin("small");
  EXPECT_EQ(swept.batch, 2);
  EXPECT_EQ(swept.whole, planners::fast_only_bytes(workload_.graph()));
  const SweepPoint point = sweep.predict("on-demand", swept.whole * 9 / 10);
  ASSERT_TRUE(point.feasible()) << point.failure;
  const plan::Plan plan = *plan_workload(workload_, machine_, profile_, "on-demand", {MemorySize{point.budget}, false});
  EXPECT_EQ(point.step_seconds, plan.predicted_step_seconds);
  EXPECT_EQ(point.slowdown, point.step_seconds / swept.baseline_seconds);
  EXPECT_GT(point.slowdown, 1);
  EXPECT_GT(point.bytes_in, 0);
  EXPECT_LT(point.locality.found, point.locality.requested) << "fetched on demand";
}

TEST_F(BudgetSweepTest, TooSmallBudgetsKnowTheSmallestFeasibleOne) {
  BudgetSweep sweep(workload_, machine_, profile_);
  const SweepPoint first = sweep.predict("on-demand", 2 * memory::kBlockAlignment);
  const SweepPoint second = sweep.predict("on-demand", memory::kBlockAlignment);
  ASSERT_TRUE(first.smallest_feasible);
  EXPECT_FALSE(first.feasible());
  EXPECT_FALSE(second.feasible());
  EXPECT_EQ(first.smallest_feasible, second.smallest_feasible);
  EXPECT_TRUE(sweep.predict("on-demand", *first.smallest_feasible).feasible());
}

TEST_F(BudgetSweepTest, WhatCannotRunAtAllIsAFailureOfItsPoint) {
  BudgetSweep sweep(workload_, machine_, profile_);
  const SweepPoint point = sweep.predict("slow-only", 100 * kMiB);  // ops cannot address it
  EXPECT_FALSE(point.feasible());
  EXPECT_FALSE(point.smallest_feasible);
}

// redl plans by what a layer takes, so that more memory makes it slower now and then: the plan for less is taken.
TEST_F(BudgetSweepTest, RisingBudgetsNeverTakeLonger) {
  BudgetSweep sweep(workload_, machine_, profile_);
  const Bytes whole = sweep.begin("small").whole;
  std::size_t taken = 0;
  double last = std::numeric_limits<double>::infinity();
  for (Bytes percent = 30; percent <= 100; ++percent) {
    const SweepPoint point = sweep.predict("redl", whole * percent / 100);
    if (!point.feasible()) continue;
    EXPECT_LE(point.step_seconds, last) << percent;
    EXPECT_LE(point.planned_for, point.budget);
    EXPECT_EQ(point.budget, align_down(whole * percent / 100, memory::kBlockAlignment));
    if (point.planned_for < point.budget) ++taken;
    last = point.step_seconds;
  }
  EXPECT_GT(taken, 0U);
}

TEST_F(BudgetSweepTest, NoPointIsFasterThanItsBound) {
  BudgetSweep sweep(workload_, machine_, profile_);
  const Bytes whole = sweep.begin("small").whole;
  for (const Bytes percent : {80, 90, 100}) {
    const SweepPoint point = sweep.predict("sentinel", whole * percent / 100, true);
    ASSERT_TRUE(point.feasible()) << point.failure;
    EXPECT_GT(point.bound_seconds, 0);
    EXPECT_LE(point.bound_seconds, point.step_seconds);
  }
}

SweptModel curve(std::vector<double> slowdowns) {
  SweptModel swept{.model = "net", .whole = 100, .baseline_seconds = 1};
  for (const double slowdown : slowdowns) {
    const Bytes budget = 10 * (std::ssize(swept.points) + 1);
    swept.points.push_back({.planner = "sentinel", .budget = budget, .step_seconds = slowdown, .slowdown = slowdown});
  }
  return swept;
}

TEST(KneeTest, IsWhereTheCurveBendsMost) {
  EXPECT_EQ(knee_of(curve({2, 1.2, 1.1, 1.05, 1}), "sentinel")->budget, 20);
  EXPECT_EQ(knee_of(curve({2, 1.6, 1.1, 1.05, 1}), "sentinel")->budget, 30);
  SweptModel infeasible = curve({9, 2, 1.2, 1.1, 1});
  infeasible.points[0].failure = "too small";
  EXPECT_EQ(knee_of(infeasible, "sentinel")->budget, 30);
}

TEST(KneeTest, StraightAndShortAndFlatCurvesHaveNone) {
  EXPECT_EQ(knee_of(curve({1.4, 1.3, 1.2, 1.1, 1}), "sentinel"), nullptr);
  EXPECT_EQ(knee_of(curve({1.4, 1.05}), "sentinel"), nullptr);
  EXPECT_EQ(knee_of(curve({1, 1, 1}), "sentinel"), nullptr);
  EXPECT_EQ(knee_of(curve({2, 1.2, 1}), "another"), nullptr);
}

TEST_F(BudgetSweepTest, FindsASmallBudgetWithoutLoss) {
  BudgetSweep sweep(workload_, machine_, profile_);
  const Bytes whole = sweep.begin("small").whole;
  for (const double allowed : {0.0, 0.05, 0.5}) {
    SCOPED_TRACE(allowed);
    const NoLossPoint found = sweep.find_no_loss("sentinel", allowed);
    ASSERT_TRUE(found.point.feasible()) << found.point.failure;
    EXPECT_LE(found.point.slowdown, 1 + allowed);
    EXPECT_EQ(found.grid, whole / 100);
    if (found.point.budget == whole) continue;
    const auto step = (found.point.budget + found.grid - 1) / found.grid;
    EXPECT_EQ(found.point.budget, align_down(step * found.grid, memory::kBlockAlignment));
    const SweepPoint less = sweep.predict("sentinel", (step - 1) * found.grid);
    EXPECT_TRUE(!less.feasible() || less.slowdown > 1 + allowed) << "a hundredth less would do";
    EXPECT_LT(found.budgets_tried, 20);
  }
}

TEST_F(BudgetSweepTest, MoreLossNeedsNoMoreMemory) {
  BudgetSweep sweep(workload_, machine_, profile_);
  EXPECT_LE(sweep.find_no_loss("sentinel", 1).point.budget, sweep.find_no_loss("sentinel", 0.001).point.budget);
  EXPECT_LT(sweep.find_no_loss("on-demand", 1).point.budget, sweep.find_no_loss("on-demand", 0.001).point.budget);
}

TEST_F(BudgetSweepTest, APlannerThatCannotPlanHasNoBudgetWithoutLoss) {
  BudgetSweep sweep(workload_, machine_, profile_);
  const NoLossPoint found = sweep.find_no_loss("no such planner", 0.01);
  EXPECT_FALSE(found.point.feasible());
  EXPECT_THAT(found.point.failure, HasSubstr("unknown planner"));
}

}  // namespace
}  // namespace sluice::experiment
