#include "sluice/plan/plan_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/plan/verify/verifier.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using T = testing::TinyStep;

class PlanBuilderTest : public ::testing::Test {
 protected:
  // The plan of tiny_step.hpp, said to a builder.
  PlanBuilder tiny_builder() const {
    PlanBuilder builder(step_.graph, step_.machine);
    for (const Residency& r : step_.plan.residencies) builder.add_residency(r.tensor, r.tier, r.ops);
    for (const Migration& m : step_.plan.migrations) {
      builder.add_migration(m.tensor, m.from, m.to, m.issue_after, m.needed_by);
    }
    return builder;
  }

  testing::TinyStep step_ = testing::tiny_step();
  std::vector<Bytes> budgets_ = {20480, 8192};
};

TEST_F(PlanBuilderTest, PacksASoundPlan) {
  const Plan plan = tiny_builder().finish(budgets_).value();
  EXPECT_THAT(verify_plan(step_.graph, step_.machine, plan), IsEmpty());
  EXPECT_EQ(plan.budgets, budgets_);
  EXPECT_EQ(plan.arena_bytes, (std::vector<Bytes>{20480, 8192}));
  EXPECT_EQ(plan.graph_name, "tiny");
}

TEST_F(PlanBuilderTest, SaysWhatDoesNotFit) {
  PackingFailure failure;
  budgets_[0] = 16384;
  const Result<Plan> plan = tiny_builder().finish(budgets_, &failure);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kInfeasible);
  EXPECT_THAT(plan.error().message, HasSubstr("20480 bytes"));
  EXPECT_THAT(plan.error().message, HasSubstr("tier 0 'dram'"));
  EXPECT_THAT(plan.error().message, HasSubstr("16384 bytes"));
  EXPECT_EQ(failure.tier, 0);
  EXPECT_EQ(failure.budget, 16384);
  EXPECT_EQ(failure.needed, 20480);
  EXPECT_EQ(failure.bound, 20480);
}

TEST_F(PlanBuilderTest, CanBeChangedAndFinishedAgain) {
  PlanBuilder builder = tiny_builder();
  builder.set_residency_ops(T::kMDram, {1, 5});  // longer than anybody needs it
  EXPECT_FALSE(builder.finish(budgets_).ok());
  builder.set_residency_ops(T::kMDram, {1, 3});
  EXPECT_TRUE(builder.finish(budgets_).ok());
}

TEST_F(PlanBuilderTest, NeedsABudgetForEveryTier) {
  const Result<Plan> plan = tiny_builder().finish(std::vector<Bytes>{kGiB});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kBadInput);
}

TEST_F(PlanBuilderTest, ClosesTheCycleAtOneOffset) {
  PlanBuilder builder = tiny_builder();
  // A second file residency beside w's, so that packing by itself would put the two pieces of w at different offsets.
  builder.set_residency_ops(T::kXFile, {1, 5});
  const ResidencyIndex begins = builder.add_residency(T::kW, 1, {0, 1});
  const ResidencyIndex ends = builder.add_residency(T::kW, 1, {4, 5});
  builder.add_migration(T::kW, begins, T::kWDram, kStepStart, 0);
  builder.add_migration(T::kW, T::kWDram, ends, 4, 5);
  const Plan plan = builder.finish(std::vector<Bytes>{kGiB, kGiB}).value();
  EXPECT_EQ(plan.residencies[begins].offset, plan.residencies[ends].offset);
  EXPECT_THAT(verify_plan(step_.graph, step_.machine, plan), IsEmpty());
}

// At op 2 x goes and y comes, both without width, and there is fast room for one of them only. Added in the wrong
// order.
TEST_F(PlanBuilderTest, EvictionsGoBeforePrefetchesOfTheSameMoment) {
  graph::Graph graph;
  const graph::TensorId x = testing::add_tiny_tensor(graph, "x", graph::Role::kParameter, 4096);
  const graph::TensorId y = testing::add_tiny_tensor(graph, "y", graph::Role::kParameter, 4096);
  for (const graph::TensorId used : {x, x, y, y}) testing::add_tiny_op(graph, "op", {used}, {});
  const memory::Machine machine = testing::tiny_machine();
  PlanBuilder builder(graph, machine);
  const ResidencyIndex x_fast = builder.add_residency(x, 0, {0, 2});
  const ResidencyIndex x_home = builder.add_residency(x, 1, {0, 1}), x_file = builder.add_residency(x, 1, {2, 4});
  const ResidencyIndex y_home = builder.add_residency(y, 1, {0, 4}), y_fast = builder.add_residency(y, 0, {2, 4});
  builder.add_migration(y, y_home, y_fast, 1, 2);
  builder.add_migration(x, x_fast, x_file, 1, 2);
  builder.add_migration(x, x_home, x_fast, kStepStart, 0);
  const Plan plan = builder.finish(std::vector<Bytes>{4096, kGiB}).value();
  EXPECT_EQ(plan.migrations[0].issue_after, kStepStart);
  EXPECT_EQ(plan.migrations[1].tensor, x);
  EXPECT_EQ(plan.migrations[2].tensor, y);
  EXPECT_THAT(verify_plan(graph, machine, plan), IsEmpty());
}

TEST_F(PlanBuilderTest, SetsEveryOperandOfATensor) {
  PlanBuilder builder = tiny_builder();
  builder.set_tensor_tier(4, T::kW, 1);  // inputs w, x; output w
  EXPECT_EQ(builder.placement(4).operand_tiers, (std::vector<memory::TierId>{1, 0, 1}));
  builder.set_operand_tier(4, 1, 1);
  EXPECT_EQ(builder.placement(4).operand_tiers, (std::vector<memory::TierId>{1, 1, 1}));
}

TEST_F(PlanBuilderTest, RefusesWhatDoesNotExist) {
  PlanBuilder builder = tiny_builder();
  EXPECT_THROW(builder.add_residency(5, 0, {0, 1}), std::logic_error);
  EXPECT_THROW(builder.add_residency(0, 2, {0, 1}), std::logic_error);
  EXPECT_THROW(builder.add_migration(T::kW, T::kXDram, T::kXFile, 0, 1), std::logic_error);
}

}  // namespace
}  // namespace sluice::plan
