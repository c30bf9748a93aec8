#include "sluice/report/bound_note.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/testing/drawn_step.hpp"

namespace sluice::report {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using Step = testing::DrawnStep;

TEST(BoundNoteTest, NamesWhatTheBoundIsMadeOf) {
  const Step step;
  EXPECT_EQ(describe_bound(step.graph, bound_of(step.graph)),
            "48.0 KiB: 8.0 KiB of short-lived tensors at once and a (40.0 KiB)");
}

TEST(BoundNoteTest, SpeaksOfBudgetsBelowTheBoundOnly) {
  const Step step;
  const graph::FastMemoryBound bound = bound_of(step.graph);
  EXPECT_FALSE(explain_below_bound(bound, bound.bytes(), std::nullopt));
  const auto silent = explain_below_bound(bound, bound.bytes() - 1024, std::nullopt);
  ASSERT_TRUE(silent);
  EXPECT_THAT(*silent, HasSubstr("the budget of 47.0 KiB is below the lower bound on fast memory, 48.0 KiB"));
  EXPECT_THAT(*silent, HasSubstr("section IV-E"));
  EXPECT_THAT(*silent, EndsWith("lose more than 20 % then"));
  const auto measured = explain_below_bound(bound, 0, Loss{0.345, "measured"});
  ASSERT_TRUE(measured);
  EXPECT_THAT(*measured, EndsWith("more than 20 % then; measured here: 34.5 %"));
}

TEST(BoundNoteTest, AppliesToSentinelsPlans) {
  plan::Plan plan;
  plan.planner = "sentinel";
  EXPECT_TRUE(bound_applies(plan));
  plan.planner = "on-demand";
  EXPECT_FALSE(bound_applies(plan));
}

}  // namespace
}  // namespace sluice::report
