// What a run begins with, and what a session does that is given another plan: beside the trials of
// plan_trials_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/experiment/plan_trials.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/train/estimated_profile.hpp"

namespace sluice::experiment {
namespace {

using ::testing::HasSubstr;

// A small network on emulated memory.
struct Scene {
  train::Workload workload = train::build_workload({.model = "resnet20", .shape = {.batch = 4}}).value();
  memory::Machine machine = memory::make_machine({.threads = 1, .slow = {{"optane"}}}).value();
  profile::Profile profile = train::estimated_profile(workload.graph(), machine);
};

TEST(StartPlanningTest, OnlyPlannersWithASearchAreAskedForTrials) {
  const Scene scene;
  const auto start = [&](const std::string& planner, std::optional<std::int64_t> most_steps,
                         const std::string& fast = "60%") {
    return start_planning(scene.workload, scene.machine, scene.profile, planner, {*parse_memory_size(fast)}, nullptr,
                          most_steps);
  };
  for (const std::optional<std::int64_t> most_steps : {std::optional<std::int64_t>(), std::optional<std::int64_t>(0)}) {
    const auto plain = start("on-demand", most_steps);
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
    const auto searching = start(std::string(entry.name), std::nullopt);
    ASSERT_TRUE(searching.ok()) << searching.error().message;
    EXPECT_NE(searching->search, nullptr) << "the tier is addressable";
    EXPECT_GT(policies::plan_of(searching->run).predicted_step_seconds, 0);
    EXPECT_EQ(start(std::string(entry.name), 0)->search, nullptr);
    const auto tiny = start(std::string(entry.name), std::nullopt, "4KiB");
    const auto planned =
        train::plan_workload(scene.workload, scene.machine, scene.profile, entry.name, {*parse_memory_size("4KiB")});
    ASSERT_EQ(tiny.ok(), planned.ok());
    if (!tiny.ok()) {
      EXPECT_EQ(tiny.error().message, planned.error().message);
    }
  }
}

TEST(ChangePlanTest, APlanThatBreaksARuleIsRefusedAndTheSessionGoesOn) {
  Scene scene;
  const auto plan_by = [&](const std::string& planner) {
    return train::plan_workload(scene.workload, scene.machine, scene.profile, planner, {*parse_memory_size("60%")})
        .value();
  };
  auto session = train::Session::create(scene.workload, scene.machine, plan_by("sentinel"), {}).value();
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
}  // namespace sluice::experiment
