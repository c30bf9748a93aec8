// What a run begins with, what decides about its plan then, and what a session does that is given another plan.
#include "sluice/train/plan_changes/start.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/memory/presets.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/train/planning/estimated_profile.hpp"

namespace sluice::train {
namespace {

using ::testing::HasSubstr;

// A small network on emulated memory.
class StartTest : public ::testing::Test {
 protected:
  Result<PlannedStart> start(std::string_view planner, std::optional<std::int64_t> most_trials,
                             const std::string& fast = "60%") const {
    return start_planning(workload_, machine_, profile_, planner, {*parse_memory_size(fast)}, nullptr, most_trials);
  }

  // Of a run that begins so and may have another plan.
  PlanRule rule_of(const std::string& planner, std::optional<std::int64_t> most_trials, bool replans) {
    PlannedStart begin = start(planner, most_trials).value();
    const auto session = Session::create(workload_, machine_, begin.run, {}).value();
    const auto training = watch_training(*session, workload_, std::move(begin), {machine_, profile_}, nullptr,
                                         {.planner = planner, .most_trials = most_trials, .replans = replans});
    EXPECT_EQ(training->run_step(0, 0.05F)->variant, training->record().rule == PlanRule::kTrials ? "warm-up" : "");
    return training->record().rule;
  }

  Workload workload_ = build_workload({.model = "resnet20", .shape = {.batch = 4}}).value();
  memory::Machine machine_ = memory::make_machine({.threads = 1, .slow = {{"optane"}}}).value();
  profile::Profile profile_ = estimated_profile(workload_.graph(), machine_);
};

TEST_F(StartTest, OnlyPlannersWithASearchAreAskedForTrials) {
  for (const std::optional<std::int64_t> most_trials :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(0)}) {
    const auto plain = start("on-demand", most_trials);
    ASSERT_TRUE(plain.ok()) << plain.error().message;
    EXPECT_EQ(plain->search, nullptr);
    EXPECT_EQ(policies::plan_of(plain->run).planner, "on-demand");
  }
  const auto refused = start("on-demand", 4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(refused.error().message, HasSubstr("on-demand has nothing to try: leave out --trials"));
  const auto unknown = start("oracle", std::nullopt);
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("unknown planner 'oracle'"));
  for (const planners::PlannerEntry& entry : planners::planners()) {
    if (!entry.search) continue;
    SCOPED_TRACE(entry.name);
    const auto searching = start(entry.name, std::nullopt);
    ASSERT_TRUE(searching.ok()) << searching.error().message;
    EXPECT_NE(searching->search, nullptr) << "the tier is addressable";
    EXPECT_GT(policies::plan_of(searching->run).predicted_step_seconds, 0);
    EXPECT_EQ(start(entry.name, 0)->search, nullptr);
    const auto tiny = start(entry.name, std::nullopt, "4KiB");
    const auto planned = plan_workload(workload_, machine_, profile_, entry.name, {*parse_memory_size("4KiB")});
    ASSERT_EQ(tiny.ok(), planned.ok());
    if (!tiny.ok()) {
      EXPECT_EQ(tiny.error().message, planned.error().message);
    }
  }
}

TEST_F(StartTest, ARunHasTheRuleThatItsStartAndItsOptionsSay) {
  EXPECT_EQ(rule_of("sentinel", std::nullopt, true), PlanRule::kTrials) << "which come first";
  EXPECT_EQ(rule_of("sentinel", 0, true), PlanRule::kReplanning);
  EXPECT_EQ(rule_of("on-demand", std::nullopt, false), PlanRule::kStays);
  EXPECT_EQ(rule_of("numa-first-touch", std::nullopt, true), PlanRule::kStays) << "a policy has no plan";
}

TEST_F(StartTest, APlanThatBreaksARuleIsRefusedAndTheSessionGoesOn) {
  const auto plan_by = [&](const std::string& planner) { return policies::plan_of(start(planner, 0)->run); };
  const auto session = Session::create(workload_, machine_, plan_by("sentinel"), {}).value();
  ASSERT_TRUE(session->run_step(0, 0.05F).ok());
  const std::string before = session->hash_parameters().value();
  plan::Plan broken = plan_by("on-demand");
  broken.budgets[0] = memory::kBlockAlignment;
  const Status refused = session->change_plan(broken);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kMismatch);
  EXPECT_TRUE(session->running());
  EXPECT_EQ(session->plan().planner, "sentinel");
  ASSERT_TRUE(session->change_plan(plan_by("on-demand")).ok());
  EXPECT_EQ(session->plan().planner, "on-demand");
  EXPECT_EQ(session->hash_parameters().value(), before);
  EXPECT_TRUE(session->run_step(1, 0.05F).ok());
}

}  // namespace
}  // namespace sluice::train
