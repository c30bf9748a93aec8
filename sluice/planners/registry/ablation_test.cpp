// Planners with some of our additions switched off: sound plans, and each switch does what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/schedule/intervals.hpp"
#include "sluice/planners/schedule/moving_units.hpp"
#include "sluice/testing/program_oracle.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/test_set.hpp"

namespace sluice::planners {
namespace {

std::string config_value(const plan::Plan& plan, const std::string& key) {
  for (const auto& [name, value] : plan.planner_config) {
    if (name == key) return value;
  }
  ADD_FAILURE() << "no " << key;
  return "0";
}

// Every subset of every planner's additions, as the user would write it.
std::vector<std::string> variants() {
  std::vector<std::string> names;
  for (const PlannerEntry& entry : planners()) {
    for (unsigned subset = 0; !entry.additions.empty() && subset + 1 < 1U << entry.additions.size(); ++subset) {
      AdditionSet set = AdditionSet::none();
      for (std::size_t i = 0; i < entry.additions.size(); ++i) {
        if ((subset >> i & 1U) != 0) set.add(i);
      }
      names.push_back(std::string(entry.name) + ":additions=" + names_of_additions(set, entry.additions));
    }
  }
  return names;
}

TEST(Ablation, EveryVariantIsRightOnRandomGraphs) {
  const int seeds = testing::pick_for_set(4, 10, 100);
  std::map<std::string, int> accepted;
  for (int seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const PlanningProblem problem(testing::random_graph(seed), seed % 3 == 0 ? "pcie3" : "optane", 1e9);
    for (const std::string& variant : variants()) {
      SCOPED_TRACE(variant);
      for (const double share : {0.6, 0.9}) {
        const Result<plan::Plan> plan = make_plan(variant, problem.request(share));  // verifies it
        if (!plan.ok()) {
          const bool needs_in_place = variant.starts_with("autotm-static") && seed % 3 == 0;
          EXPECT_TRUE(needs_in_place ? plan.error().code == ErrorCode::kUnsupported
                                     : wants_more_room(plan.error().code))
              << plan.error().message;
          continue;
        }
        ++accepted[variant];
        EXPECT_EQ(plan->planner, variant);
        const program::Program program = program::lower_plan(problem.graph, problem.machine, *plan).value();
        const plan::PlanGraph step(problem.graph, *plan);
        EXPECT_EQ(testing::find_race(step.graph(), program, seed), std::nullopt);
      }
    }
  }
  for (const std::string& variant : variants()) EXPECT_GE(accepted[variant], seeds) << variant;
}

TEST(Ablation, AllAdditionsNamedArePlainPlanners) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "optane", 2e9);
  for (const PlannerEntry& entry : planners()) {
    if (entry.additions.empty()) continue;
    const std::string all = std::string(entry.name) + ":additions=" + names_of_additions({}, entry.additions);
    const auto named = make_plan(all, problem.request(0.3));
    const auto plain = make_plan(entry.name, problem.request(0.3));
    ASSERT_TRUE(named.ok() && plain.ok());
    EXPECT_EQ(named->residencies, plain->residencies);
    EXPECT_EQ(named->migrations, plain->migrations);
    const auto none = make_plan(std::string(entry.name) + ":additions=none", problem.request(0.3));
    ASSERT_TRUE(none.ok());
    if (std::ranges::none_of(entry.additions, &PlannerAddition::by_default)) continue;
    EXPECT_NE(none->residencies, plain->residencies) << entry.name << ": or this shows nothing";
  }
}

TEST(SentinelAsPublished, TheEquationsAloneChooseTheInterval) {
  for (const double share : {0.3, 0.5, 0.7}) {
    SCOPED_TRACE(share);
    const PlanningProblem problem(merged_model("resnet32", 16, 32), "optane", 2e9);
    const auto plan = make_plan("sentinel:additions=none", problem.request(share));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const graph::Liveness liveness = graph::analyze_liveness(problem.graph);
    const profile::CostModel costs(problem.graph, problem.profile, problem.machine);
    int best = 1;
    Seconds goal = 1e9;
    for (int length = 1; length <= count_of(liveness.spans) / 2; ++length) {
      const auto figures = estimate_intervals(problem.graph, liveness, costs, cut_into_intervals(liveness, length),
                                              plan->budgets[memory::kFastTier], 2e9);
      if (!figures.space_ok) break;
      if (figures.goal_seconds >= goal) continue;
      goal = figures.goal_seconds;
      best = length;
    }
    EXPECT_EQ(std::stoi(config_value(*plan, "interval_length")), best);
    EXPECT_GT(best, 1) << "or this shows little";
  }
}

// Ops for which a tensor that is not needed in this interval or the next is in fast memory without having to be.
int idle_stays(const PlanningProblem& problem, const plan::Plan& plan) {
  const graph::Liveness liveness = graph::analyze_liveness(problem.graph);
  const IntervalCut cut = cut_into_intervals(liveness, std::stoi(config_value(plan, "interval_length")));
  int stays = 0;
  for (const MovingUnit& unit : find_moving_units(problem.graph, liveness)) {
    if (!unit.may_move || unit.moved_bytes < kSmallTensorBytes) continue;
    for (std::size_t i = 0; i + 1 < unit.uses.size(); ++i) {
      const graph::OpIndex from = unit.uses[i].op;
      const graph::OpIndex to = unit.uses[i + 1].op;
      const auto interval = [&](graph::OpIndex op) { return cut.interval_of_op[as_index(op)]; };
      if (from < unit.complete_after || interval(to) <= interval(from) + 1) continue;
      for (const plan::Residency& each : plan.residencies) {
        if (each.tensor != unit.tensors.front() || each.tier != memory::kFastTier) continue;
        stays += each.ops.begin <= from && each.ops.end > to ? 1 : 0;
      }
    }
  }
  return stays;
}

TEST(SentinelAsPublished, WhatTwoIntervalsDoNotNeedLeaves) {
  const PlanningProblem problem(merged_model("resnet32", 16, 32), "optane", 2e9);
  const auto published = make_plan("sentinel:additions=none", problem.request(0.5));
  const auto staying = make_plan("sentinel:additions=staying", problem.request(0.5));
  ASSERT_TRUE(published.ok() && staying.ok());
  EXPECT_EQ(idle_stays(problem, *published), 0);
  EXPECT_GT(idle_stays(problem, *staying), 0);
}

// By cause: how many migrations.
std::map<plan::Cause, int> causes_of(const plan::Plan& plan) {
  std::map<plan::Cause, int> causes;
  for (const plan::Migration& migration : plan.migrations) ++causes[migration.cause];
  return causes;
}

// Prefetches that begin before the interval before the one that needs them.
int early_prefetches(const PlanningProblem& problem, const plan::Plan& plan) {
  const IntervalCut cut =
      cut_into_intervals(graph::analyze_liveness(problem.graph), std::stoi(config_value(plan, "interval_length")));
  int early = 0;
  for (const plan::Migration& migration : plan.migrations) {
    if (plan.residencies[migration.to].tier != memory::kFastTier || migration.needed_by >= problem.graph.op_count())
      continue;
    const int needing = cut.interval_of_op[migration.needed_by];
    const graph::OpIndex previous = needing == 0 ? 0 : cut.intervals[needing - 1].begin;
    early += migration.issue_after + 1 < previous ? 1 : 0;
  }
  return early;
}

TEST(SentinelAsPublished, PrefetchesOneIntervalAheadAtTheEarliest) {
  const PlanningProblem problem(merged_model("vgg11", 4, 32), "file", 1e9, 4e10);  // a slow link: much comes late
  const auto published = make_plan("sentinel:additions=none", problem.request(0.3));
  const auto ahead = make_plan("sentinel:additions=ahead", problem.request(0.3));
  ASSERT_TRUE(published.ok() && ahead.ok());
  EXPECT_EQ(early_prefetches(problem, *published), 0);
  EXPECT_GT(early_prefetches(problem, *ahead), 0);
  EXPECT_LT(ahead->predicted_step_seconds, published->predicted_step_seconds);
  EXPECT_EQ(causes_of(*published)[plan::Cause::kLinkWouldBeLate], 0);
  EXPECT_GT(causes_of(*ahead)[plan::Cause::kLinkWouldBeLate], 0);
  for (const plan::Cause cause : {plan::Cause::kAhead, plan::Cause::kNoRoomBefore, plan::Cause::kNotNeededSoon}) {
    EXPECT_GT(causes_of(*published)[cause], 0) << text_of(cause)->name;
  }
}

TEST(SentinelAsPublished, LeavesPrefetchesOutOnlyByTrial) {
  const PlanningProblem problem(merged_model("resnet32", 16, 32), "optane",
                                100e9);  // copies so fast that nothing is late
  const auto plan = make_plan("sentinel:additions=none", problem.request(0.4));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(config_value(*plan, "prefetches_left_out"), "0");
  EXPECT_NE(config_value(*plan, "prefetches"), "0");
}

TEST(RedlAsPublished, TheFirstPeriodFromTheMedianThatKeepsTheConstraintsIsTaken) {
  const PlanningProblem problem(merged_model("resnet32", 16, 32), "pmbd", 4e9);
  const auto plan = make_plan("redl:additions=stretches+prices", problem.request(0.5));
  ASSERT_TRUE(plan.ok());
  const graph::Liveness liveness = graph::analyze_liveness(problem.graph);
  const profile::CostModel costs(problem.graph, problem.profile, problem.machine);
  const auto keeps_both = [&](int period) {
    const auto figures = estimate_intervals(problem.graph, liveness, costs, cut_into_intervals(liveness, period),
                                            plan->budgets[memory::kFastTier], 4e9);
    return figures.space_ok && figures.exposed_seconds == 0;
  };
  const int median = count_of(liveness.spans) / 2;
  const int period = std::stoi(config_value(*plan, "period_layers"));
  EXPECT_TRUE(keeps_both(period));
  EXPECT_NE(period, median) << "or this shows little";
  for (int distance = 0; distance < std::abs(period - median); ++distance) {
    EXPECT_FALSE(keeps_both(median + distance) || keeps_both(median - distance)) << distance;
  }
  EXPECT_EQ(config_value(*plan, "search_steps"), "1");
}

TEST(RedlAsPublished, OneTierATensorLosesMoreThanOneAStretch) {
  const PlanningProblem problem(merged_model("resnet32", 16, 32), "pmbd", 8e9);
  const auto lost = [&](const std::string& planner) {
    const auto plan = make_plan(planner, problem.request(0.2));
    EXPECT_TRUE(plan.ok());
    return std::stod(config_value(*plan, "placement_lost_seconds"));
  };
  EXPECT_GT(lost("redl:additions=prices+search"), lost("redl"));
}

}  // namespace
}  // namespace sluice::planners
