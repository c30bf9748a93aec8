#include "sluice/experiment/first_figures.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "sluice/experiment/machine_probe.hpp"
#include "sluice/measure/profiler.hpp"
#include "sluice/memory/presets.hpp"

namespace sluice::experiment {
namespace {

class FirstFiguresTest : public ::testing::Test {
 protected:
  FirstFiguresTest()
      : workload_(std::move(train::build_workload({.model = "resnet20", .shape = {.batch = 2}, .threads = 1})).value()),
        machine_(*memory::make_machine({.threads = 1, .slow = {{"pcie3", kGiB}}})) {
    std::filesystem::remove_all(folder_);
  }

  profile::ProfileCache cache() const { return profile::ProfileCache::open(machine_.compute_fingerprint(), folder_); }

  static Beginning beginning(const std::string& planner, const std::string& fast) {
    Beginning asked{.planner = planner, .fast = train::FastBudget()};
    if (!fast.empty()) asked.fast->size = *parse_memory_size(fast);
    return asked;
  }

  std::optional<PlanWhereAllFits> where_all_fits(const Beginning& asked) {
    return plan_where_all_fits(workload_, machine_, cache(), asked).value();
  }

  std::filesystem::path folder_ = ::testing::TempDir() + std::string("first_figures_") +
                                  ::testing::UnitTest::GetInstance()->current_test_info()->name();
  train::Workload workload_;
  memory::Machine machine_;
};

TEST_F(FirstFiguresTest, NothingIsMeasuredWhereEverythingFits) {
  for (const auto& [planner, fast] : {std::pair("joint", ""), std::pair("sentinel", "100%"),
                                      std::pair("fast-only", "30%"), std::pair("joint", "1GiB")}) {
    const std::optional<PlanWhereAllFits> found = where_all_fits(beginning(planner, fast));
    ASSERT_TRUE(found.has_value()) << planner << " " << fast;
    EXPECT_TRUE(found->plan.migrations.empty());
    EXPECT_EQ(found->plan.planner, planner);
    EXPECT_TRUE(found->estimated);
  }
  EXPECT_EQ(cache().op_count(), 0U);
}

TEST_F(FirstFiguresTest, WhereSomethingIsToBeDecidedItIsNotDecidedBlindly) {
  EXPECT_FALSE(where_all_fits(beginning("joint", "60%")).has_value());
  EXPECT_FALSE(where_all_fits(beginning("joint:additions=kernels", "")).has_value()) << "it chooses by times";
  EXPECT_FALSE(where_all_fits(beginning("numa-first-touch", "")).has_value()) << "a policy";
}

// In both ways to begin at once.
TEST_F(FirstFiguresTest, WhatIsAskedForBesidesAPlanIsNotLeftOut) {
  const auto at_once = [&](const Beginning& asked) {
    return std::pair(where_all_fits(asked).has_value(), may_begin_with_estimates(workload_, machine_, asked));
  };
  const auto with = [&](auto change) {
    Beginning asked = beginning("sentinel", "100%");
    change(asked);
    return at_once(asked);
  };
  EXPECT_EQ(with([](Beginning&) {}), std::pair(true, true));
  EXPECT_EQ(with([](Beginning& asked) { asked.fast.reset(); }), std::pair(false, false)) << "to be found";
  EXPECT_EQ(with([](Beginning& asked) { asked.times_given = true; }), std::pair(false, false));
  EXPECT_EQ(with([](Beginning& asked) { asked.most_trials = 3; }), std::pair(false, false));
  EXPECT_EQ(with([](Beginning& asked) { asked.measured_before = true; }), std::pair(true, false));
  EXPECT_EQ(with([](Beginning& asked) { asked.may_change = false; }), std::pair(true, false)) << "for good";
}

TEST_F(FirstFiguresTest, MemoryThatDoesNotHoldWhatNobodyLimitedIsTold) {
  machine_.tiers[memory::kFastTier].capacity = kMiB;
  const auto plan = plan_where_all_fits(workload_, machine_, cache(), beginning("joint", ""));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kInfeasible);
}

TEST_F(FirstFiguresTest, AreEstimatesUntilSomebodyHasMeasured) {
  profile::ProfileCache empty = cache();
  const train::Figures first = first_figures(workload_, machine_, empty).value();
  EXPECT_TRUE(first.estimated);
  for (const memory::Link& link : first.machine.links) EXPECT_GT(link.bandwidth, 0);
  for (const Seconds seconds : first.profile.op_seconds) EXPECT_GT(seconds, 0);

  profile::ProfileCache second = cache();
  const train::Figures again = first_figures(workload_, machine_, second).value();
  EXPECT_TRUE(again.estimated) << "links: a short look is remembered as what it is";
  EXPECT_EQ(again.machine.links[0].shared_bandwidth, first.machine.links[0].shared_bandwidth);

  memory::Machine probed = machine_;
  ASSERT_TRUE(probe_machine(probed, second, Probe::kUseCache).ok());
  ASSERT_TRUE(
      measure::measure_profile(*workload_.compiled, probed, second, {.most_seconds = measure::kWithoutLimit}).ok());
  profile::ProfileCache full = cache();
  const train::Figures known = first_figures(workload_, machine_, full).value();
  EXPECT_FALSE(known.estimated);
  EXPECT_EQ(known.profile.measured_ops, 0);
  EXPECT_EQ(known.machine.links[0].shared_bandwidth, probed.links[0].shared_bandwidth);
}

}  // namespace
}  // namespace sluice::experiment
