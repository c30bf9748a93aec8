// What is made again, and what is kept, by the memory that a plan may use.
#include "sluice/train/planning/planning.hpp"

#include <gtest/gtest.h>

#include <string>

#include "sluice/memory/presets.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/train/planning/estimated_profile.hpp"
#include "sluice/train/planning/planning_advice.hpp"

namespace sluice::train {
namespace {

class PlanningTest : public ::testing::Test {
 protected:
  Result<plan::Plan> plan(std::string_view planner, const FastBudget& fast) {
    return plan_workload(workload_, machine_, profile_, planner, fast);
  }

  FastBudget share(const char* text) { return {*parse_memory_size(text)}; }

  Workload workload_ =
      build_workload({.model = "mobilenet_v2", .shape = {.batch = 2, .image_size = 64}, .threads = 1}).value();
  memory::Machine machine_ = [] {
    memory::Machine machine = memory::make_machine({.threads = 1, .slow = {{"optane"}}}).value();
    machine.cache_bytes = kMiB;
    return machine;
  }();
  profile::Profile profile_ = estimated_profile(workload_.graph(), machine_);
  Bytes whole_ = planners::fast_only_bytes(workload_.graph());
};

TEST_F(PlanningTest, WithAllMemoryNothingIsMadeAgain) {
  const plan::Plan baseline = plan("fast-only", {}).value();
  EXPECT_LT(baseline.schedule.size(), workload_.graph().ops().size());
  EXPECT_GT(baseline.budgets[memory::kFastTier], whole_);
  EXPECT_EQ(baseline.arena_bytes[memory::kFastTier], baseline.budgets[memory::kFastTier])
      << "what it takes, and no more";
  EXPECT_EQ(plan("fast-only", share("20%"))->schedule, baseline.schedule)
      << "the baseline is given all, whatever is asked";
  EXPECT_NEAR(baseline.predicted_step_seconds, predicted_baseline_seconds(workload_, machine_, profile_), 1e-9);
}

TEST_F(PlanningTest, WhoeverWatchesEveryOpGetsAllOfThem) {
  const plan::Plan plan_of_all = plan("fast-only", {.all_ops = true}).value();
  EXPECT_TRUE(plan_of_all.schedule.empty());
  EXPECT_EQ(plan_of_all.budgets[memory::kFastTier], whole_);
}

TEST(PlanTightly, TakesLessThanAFewOrdersOfPlacementGive) {
  const Workload workload = build_workload({.model = "gpt2_small", .shape = {.batch = 2}, .threads = 1}).value();
  const memory::Machine machine = memory::make_machine({.threads = 1, .slow = {}}).value();
  const plan::Plan plan = plan_tightly(workload, machine).value();
  EXPECT_TRUE(plan.schedule.empty());
  EXPECT_LT(plan.arena_bytes[memory::kFastTier], planners::fast_only_bytes(workload.graph()) * 99 / 100);
  EXPECT_TRUE(plan.stitches.empty());
  EXPECT_TRUE(plan::verify_plan(workload.graph(), machine, plan).empty());
}

TEST_F(PlanningTest, WhereMemoryIsShortAllOpsRun) { EXPECT_TRUE(plan("on-demand", share("60%"))->schedule.empty()); }

// Also where a planner has a schedule of its own, or the caller choices.
TEST_F(PlanningTest, EveryPlannerLeavesOutWhatItHasRoomToKeep) {
  workload_.choices.assign(workload_.graph().ops().size(), graph::OpChoice{});
  machine_.processors = {{.name = "device"}, {.name = "host"}};
  workload_.choices.back().processor = 1;
  for (const planners::PlannerEntry& entry : planners::planners()) {
    SCOPED_TRACE(entry.name);
    const auto made = plan(entry.name, {});
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_TRUE(plan::verify_plan(workload_.graph(), machine_, *made).empty());
    EXPECT_FALSE(made->schedule.empty());
    EXPECT_EQ(made->ops.back().processor, 1);
  }
}

TEST_F(PlanningTest, TheBudgetIsAtMostWhatTheMachineHas) {
  const Bytes all = plan("fast-only", {})->budgets[memory::kFastTier];
  for (int tenth = 0; tenth <= 10; ++tenth) {
    SCOPED_TRACE(tenth);
    memory::Tier& fast = machine_.tiers[memory::kFastTier];
    fast.capacity = align_down(whole_ + (all - whole_) * tenth / 10, memory::kBlockAlignment);
    const auto made = plan("fast-only", {});
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_LE(made->budgets[memory::kFastTier], fast.capacity);
  }
  machine_.tiers[memory::kFastTier].capacity = whole_ - memory::kBlockAlignment;
  EXPECT_EQ(plan("fast-only", {}).error().code, ErrorCode::kInfeasible);
}

// What the caller has chosen is what the baseline runs.
TEST_F(PlanningTest, TheBaselineRunsByTheCallersChoices) {
  machine_.processors = {{.name = "device"}, {.name = "host"}};
  const Seconds before = predicted_baseline_seconds(workload_, machine_, profile_);
  profile::OpTimes slow{profile_.op_seconds, {}};
  for (Seconds& seconds : slow.warm) seconds *= 50;
  profile_.choices[{0, 1}] = std::make_shared<profile::OpTimes>(std::move(slow));
  EXPECT_DOUBLE_EQ(predicted_baseline_seconds(workload_, machine_, profile_), before);
  workload_.choices.assign(workload_.graph().ops().size(), graph::OpChoice{0, 1});
  EXPECT_GT(predicted_baseline_seconds(workload_, machine_, profile_), 20 * before);
}

// The error names slices that really bring the largest op into the budget.
TEST(PlanningAdvice, NamesTheSlicesThatHelp) {
  WorkloadOptions options;
  options.model = "mobilenet_v2";
  options.shape.batch = 16;
  options.threads = 1;
  const Workload usual = build_workload(options).value();
  const memory::Machine machine = memory::make_machine({.threads = 1, .slow = {{"pcie3"}}}).value();
  const auto error_of = [&](Bytes budget) {
    const profile::Profile profile = estimated_profile(usual.graph(), machine);
    const FastBudget fast{.size = MemorySize{budget}};
    const Error why = plan_workload(usual, machine, profile, "on-demand", fast).error();
    EXPECT_EQ(why.message.find("--finer-slices"), std::string::npos) << "nobody asked for advice";
    return advised(usual, machine, profile, "on-demand", fast, nullptr, why);
  };
  const Bytes budget = plan::largest_working_set(usual.graph()) / 2;
  const Error error = error_of(budget);
  EXPECT_EQ(error.code, ErrorCode::kInfeasible);
  const std::string named = "--finer-slices ";
  const std::size_t place = error.message.find(named);
  ASSERT_NE(place, std::string::npos) << error.message;
  options.finer_slices = std::stoi(error.message.substr(place + named.size()));
  EXPECT_GT(options.finer_slices, 1);
  EXPECT_LE(plan::largest_working_set(build_workload(options)->graph()), budget);
  EXPECT_NE(error_of(kMiB).message.find("would not bring it below"), std::string::npos);
}

}  // namespace
}  // namespace sluice::train
