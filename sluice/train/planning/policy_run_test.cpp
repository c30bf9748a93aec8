// Policies named where planners are: the plan that carries one, and a session that runs under it.
#include "sluice/train/planning/policy_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/memory/presets.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/train/session.hpp"

namespace sluice::train {
namespace {

using ::testing::HasSubstr;

profile::Profile given_profile(const graph::Graph& graph) {
  profile::Profile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.provenance = memory::Provenance::kGiven;
  profile.op_seconds.assign(graph.ops().size(), 20e-6);
  return profile;
}

class PolicyRunTest : public ::testing::Test {
 protected:
  PolicyRunTest() : machine_(*memory::make_machine({.threads = 1, .slow = {{"optane"}}})) {
    machine_.cache_bytes = kMiB;  // some hosts' caches hold all of this model
    WorkloadOptions options;
    options.model = "resnet20";
    options.shape = {.batch = 16, .image_size = 16, .width = 8};
    options.threads = 1;
    workload_ = build_workload(options).value();
    profile_ = given_profile(workload_.graph());
  }

  Result<policies::Run> run_by(std::string_view name, const char* fast = "20%") {
    return plan_run(workload_, machine_, profile_, name, {*parse_memory_size(fast)});
  }

  std::string hash_after(const policies::Run& run, int steps) {
    auto session = Session::create(workload_, machine_, run, {}).value();
    program::StepTimes last;
    for (int step = 0; step < steps; ++step) last = session->run_step(step, 0.05F).value().trace;
    locality_ = session->locality(last);
    return session->hash_parameters().value();
  }

  memory::Machine machine_;
  Workload workload_;
  profile::Profile profile_;
  sim::Locality locality_;  // of the last step run
};

TEST_F(PolicyRunTest, ThePlanIsFastOnlysAndThePolicyComesWithIt) {
  const plan::Plan fast =
      plan_workload(workload_, machine_, profile_, planners::kBaselinePlanner, {.all_ops = true}).value();
  for (const policies::PolicyEntry& entry : policies::policies()) {
    if (!entry.pages) continue;
    SCOPED_TRACE(entry.name);
    const auto under = run_by(entry.name);
    ASSERT_TRUE(under.ok()) << under.error().message;
    const auto* run = std::get_if<policies::PagesRun>(&*under);
    ASSERT_NE(run, nullptr);
    EXPECT_TRUE(plan::verify_plan(workload_.graph(), machine_, run->plan).empty());
    EXPECT_EQ(run->plan.residencies, fast.residencies);
    EXPECT_EQ(run->plan.arena_bytes, fast.arena_bytes);
    EXPECT_EQ(run->plan.planner, entry.name);
    EXPECT_EQ(run->policy.entry, &entry);
    EXPECT_EQ(run->policy.fast_bytes, align_down(fast.budgets[memory::kFastTier] / 5, memory::kBlockAlignment));
    EXPECT_EQ(policies::usable_fast_bytes(*under), run->policy.fast_bytes);
    EXPECT_GT(run->plan.predicted_step_seconds, fast.predicted_step_seconds);
  }
  EXPECT_EQ(policies::usable_fast_bytes(fast), fast.budgets[memory::kFastTier]);
}

TEST_F(PolicyRunTest, EveryPolicyTrainsToTheSameBits) {
  const std::string expected = hash_after(run_by("fast-only").value(), 2);
  EXPECT_DOUBLE_EQ(locality_.step.by_bytes(), 1);
  for (const policies::PolicyEntry& entry : policies::policies()) {
    if (!entry.pages) continue;
    SCOPED_TRACE(entry.name);
    EXPECT_EQ(hash_after(run_by(entry.name).value(), 2), expected);
    EXPECT_GT(locality_.step.by_bytes(), 0);
    EXPECT_LT(locality_.step.by_bytes(), 1);
    EXPECT_GT(locality_.step.requested, locality_.step.found);
  }
}

// dtr has an arena of what it is given, whatever the budget, and makes the more again the less that is.
TEST_F(PolicyRunTest, DtrTrainsToTheSameBitsInEveryBudget) {
  const plan::Plan fast = policies::plan_of(run_by("fast-only").value());
  const std::string expected = hash_after(fast, 2);
  Seconds shorter = 0;
  for (const char* budget : {"100%", "70%", "50%"}) {
    SCOPED_TRACE(budget);
    const auto under = run_by("dtr", budget);
    ASSERT_TRUE(under.ok()) << under.error().message;
    EXPECT_TRUE(plan::verify_plan(workload_.graph(), machine_, policies::plan_of(*under)).empty());
    EXPECT_EQ(policies::fast_arena_bytes(*under), policies::usable_fast_bytes(*under));
    EXPECT_LE(policies::usable_fast_bytes(*under), fast.budgets[memory::kFastTier]);
    EXPECT_GE(policies::plan_of(*under).predicted_step_seconds, shorter);
    shorter = policies::plan_of(*under).predicted_step_seconds;
    auto session = Session::create(workload_, machine_, *under, {}).value();
    for (int step = 0; step < 2; ++step) ASSERT_TRUE(session->run_step(step, 0.05F).ok());
    EXPECT_EQ(session->hash_parameters().value(), expected);
    const auto last = session->run_step(2, 0.05F).value().trace;
    const sim::TimeBreakdown parts = session->breakdown(last).value();
    EXPECT_NEAR(parts.step(), last.step_seconds, 1e-9);
    EXPECT_EQ(parts.recomputation > 0, session->policy_figures()[1].second > 0);
    EXPECT_DOUBLE_EQ(session->locality(last).step.by_bytes(), 1);
  }
  EXPECT_GT(shorter, fast.predicted_step_seconds);
}

TEST_F(PolicyRunTest, DtrNeedsNoSlowTierAndSaysWhatDoesNotFit) {
  machine_ = *memory::make_machine({.threads = 1});
  EXPECT_TRUE(run_by("dtr", "60%").ok());
  const auto too_small = run_by("dtr", "5%");
  ASSERT_FALSE(too_small.ok());
  EXPECT_TRUE(wants_more_room(too_small.error().code));
  EXPECT_THAT(too_small.error().message, HasSubstr("raise --fast"));
  EXPECT_THAT(run_by("dtr:page=4KiB", "60%").error().message, HasSubstr("dtr has no settings"));
}

TEST_F(PolicyRunTest, SettingsGoWithTheName) {
  const policies::Run coarse = run_by("um:page=256KiB").value();
  const plan::Plan& plan = policies::plan_of(coarse);
  EXPECT_EQ(plan.planner, "um:page=256KiB");
  EXPECT_EQ(std::get<policies::PagesRun>(coarse).policy.tuning.page_bytes, 256 * kKiB);
  EXPECT_NE(plan.predicted_step_seconds, policies::plan_of(run_by("um").value()).predicted_step_seconds);
  EXPECT_EQ(hash_after(coarse, 1), hash_after(run_by("fast-only").value(), 1));
}

TEST_F(PolicyRunTest, WhatCannotRunIsRefused) {
  policies::PagesRun run = std::get<policies::PagesRun>(run_by("ial").value());
  run.policy.fast_bytes = 1;
  const auto no_memory = Session::create(workload_, machine_, run, {});
  ASSERT_FALSE(no_memory.ok());
  EXPECT_EQ(no_memory.error().code, ErrorCode::kInfeasible);
  EXPECT_THAT(plan_workload(workload_, machine_, profile_, "ial", {*parse_memory_size("20%")}).error().message,
              HasSubstr("ial is a policy"));
}

TEST_F(PolicyRunTest, PagesGoToARealFileAndComeBackToTheSameBits) {
  const std::string expected = hash_after(run_by("fast-only").value(), 2);
  machine_ = *memory::make_machine({.threads = 1, .slow = {{"file"}}, .spill_path = ::testing::TempDir()});
  for (const char* policy : {"um:page=4KiB", "um-prefetch:page=4KiB"}) {
    SCOPED_TRACE(policy);
    EXPECT_EQ(hash_after(run_by(policy, "60%").value(), 2), expected);
    EXPECT_LT(locality_.step.by_bytes(), 1);
  }
}

TEST_F(PolicyRunTest, AFileIsNotUsedInPlaceAndHoldsNoOpsPages) {
  machine_ = *memory::make_machine({.threads = 1, .slow = {{"file"}}, .spill_path = ::testing::TempDir()});
  EXPECT_EQ(run_by("ial").error().code, ErrorCode::kUnsupported);
  const auto predicted = run_by("um");  // what paging an op against itself would cost can be predicted
  ASSERT_TRUE(predicted.ok());
  const auto session = Session::create(workload_, machine_, *predicted, {});
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, ErrorCode::kInfeasible);
  EXPECT_THAT(session.error().message, HasSubstr("um:page=4KiB"));
}

TEST(PolicyNames, AreNotPlanners) {
  EXPECT_TRUE(check_is_planner("sentinel").ok());
  EXPECT_THAT(check_is_planner("ial").error().message, HasSubstr("no plan"));
  EXPECT_THAT(check_is_planner("dtr").error().message, HasSubstr("no plan"));
  for (const policies::PolicyEntry& entry : policies::policies())
    EXPECT_EQ(planners::find_planner(entry.name), nullptr) << entry.name;
}

}  // namespace
}  // namespace sluice::train
