// Case 3 and uses in place: which prefetches are left out, what that does to schedules, and test and trial.
#include "sluice/planners/sentinel/left_in_slow.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/planners/sentinel/by_halves.hpp"
#include "sluice/planners/sentinel/test_and_trial.hpp"
#include "sluice/testing/program_oracle.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::planners {
namespace {

// Gaps of one unit that persists: uses at 1, 4 and 8 of ten ops.
std::vector<Gap> three_gaps() {
  return {{.previous_use = 1, .next_use = 4},
          {.previous_use = 4, .next_use = 8},
          {.previous_use = 8, .next_use = 1, .kind = GapKind::kOverStepEnd}};
}

const std::vector<graph::Use> kUses{{1, true, false}, {4, true, false}, {8, true, true}};

TEST(LeftInSlow, TheGapsOnBothSidesOfTheUseMustBeCut) {
  std::vector<Gap> gaps = three_gaps();
  leave_in_slow(gaps, {{0, 4}});
  EXPECT_TRUE(gaps[0].left_slow() && gaps[0].must_cut);
  EXPECT_TRUE(gaps[1].must_cut && !gaps[1].left_slow());
  EXPECT_FALSE(gaps[2].must_cut);
}

TEST(LeftInSlow, BehindTheWrappingGapComesTheFirstOne) {
  std::vector<Gap> gaps = three_gaps();
  leave_in_slow(gaps, {{0, 1}});
  EXPECT_TRUE(gaps[2].left_slow() && gaps[0].must_cut);
  EXPECT_FALSE(gaps[1].must_cut);
}

TEST(LeftInSlow, UsesBehindAGapReachToTheNextOne) {
  const std::vector<graph::Use> uses{
      {1, true, false}, {2, true, false}, {4, true, false}, {5, true, false}, {8, true, true}};
  std::vector<Gap> gaps = three_gaps();
  gaps[0].previous_use = 2;
  gaps[1].previous_use = 5;
  const auto ops = [&](std::size_t gap) {
    std::vector<graph::OpIndex> result;
    for (const graph::Use& use : uses_behind(gaps, gap, uses)) result.push_back(use.op);
    return result;
  };
  EXPECT_THAT(ops(0), ::testing::ElementsAre(4, 5));
  EXPECT_THAT(ops(1), ::testing::ElementsAre(8));
  EXPECT_THAT(ops(2), ::testing::ElementsAre(1, 2));
}

TEST(LeftInSlow, AStayReachesToTheNextGapThatIsCut) {
  std::vector<Gap> gaps = three_gaps();
  gaps[0].cut = gaps[2].cut = true;  // between 4 and 8 it stays
  const auto ops = [&](std::size_t gap) {
    std::vector<graph::OpIndex> result;
    for (const graph::Use& use : stay_behind(gaps, gap, kUses).uses) result.push_back(use.op);
    return result;
  };
  EXPECT_THAT(ops(0), ::testing::ElementsAre(4, 8));
  EXPECT_THAT(stay_behind(gaps, 0, kUses).gaps, ::testing::ElementsAre(0, 1));
  EXPECT_THAT(ops(2), ::testing::ElementsAre(1));
  gaps[2].cut = false;  // nor does it leave at the step's end
  EXPECT_THAT(ops(0), ::testing::ElementsAre(4, 8, 1));
}

TEST(ByHalves, KeepsEveryChangeButTheBadOnes) {
  std::vector<int> changes(40);
  std::iota(changes.begin(), changes.end(), 0);
  std::vector<int> kept;
  const auto adopt = [&](std::span<const int> some) {
    if (std::ranges::any_of(some, [](int change) { return change == 7 || change == 31; })) return false;
    kept.insert(kept.end(), some.begin(), some.end());
    return true;
  };
  int trials = 100;
  EXPECT_TRUE(adopt_by_halves(std::span<const int>(changes), adopt, trials));
  EXPECT_EQ(kept.size(), 38U);
  EXPECT_GT(trials, 70) << "or one by one would have done";
  kept.clear();
  trials = 3;
  adopt_by_halves(std::span<const int>(changes), adopt, trials);
  EXPECT_EQ(trials, 0);
  EXPECT_LT(kept.size(), 38U);
}

TEST(LeftInSlow, WhatIsWrittenInPlaceIsNotWrittenBack) {
  std::vector<Gap> gaps = three_gaps();
  leave_in_slow(gaps, {{0, 8}});
  for (Gap& gap : gaps) gap.cut = true;
  const std::vector<MovingUnit> units{{.uses = kUses}};
  mark_writes(units, gaps);
  EXPECT_FALSE(gaps[0].writes || gaps[1].writes || gaps[2].writes);
  gaps[1].prefetch = Prefetch::kMade;
  mark_writes(units, gaps);
  EXPECT_TRUE(gaps[2].writes);
}

// Read in place at the step's last op, a parameter would not be where the next step expects it.
TEST(LeftInSlow, AParameterThatTheLastOpUsesComesBackForIt) {
  std::vector<MovingUnit> units(1);
  units[0] = {.tensors = {0}, .uses = kUses, .range = {0, 9}, .persistent = true, .may_move = true};
  std::vector<Gap> gaps = find_gaps(units, 9, 0);
  ASSERT_EQ(gaps.size(), 2U);
  leave_in_slow(gaps, {{0, 4}, {0, 8}});
  EXPECT_TRUE(gaps[0].left_slow());
  EXPECT_FALSE(gaps[1].left_slow());
}

struct RandomCase {
  graph::Graph graph;
  memory::Machine machine;
  profile::Profile profile;
  PlanRequest request{graph, profile, machine, {}};

  explicit RandomCase(std::uint64_t seed, const char* tier = "optane") : graph(testing::random_graph(seed)) {
    machine = memory::make_machine({.threads = 1, .slow = {{tier, kGiB}}}).value();
    testing::SeededRandom random(seed);
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op) profile.op_seconds.push_back(1e-6 * random.between(1, 50));
    for (memory::Link& link : machine.links) link.bandwidth = 2e8;
    request.budgets = {align_down(fast_only_bytes(graph) * 7 / 10, memory::kBlockAlignment), kGiB};
  }
};

// Whatever prefetches are left out, the plan is sound and runs right in any order.
TEST(LeftInSlow, AnyPrefetchesMayBeLeftOut) {
  int left = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomCase random_case(seed);
    const std::vector<SlowTier> slow = find_slow_tiers("sentinel", random_case.machine).value();
    CandidateBuilder builder(random_case.request, slow);
    const Forecast forecast = forecast_compute(random_case.graph, builder.costs());
    ScheduleOptions options{.small_bytes = 0};
    const auto whole = builder.build(options, forecast);
    if (!whole.ok()) continue;
    testing::SeededRandom random(seed);
    for (const PrefetchKey& key : whole->prefetches) {
      if (random.between(0, 2) == 0) options.left_out.insert(key);
    }
    const auto candidate = builder.build(options, forecast);
    if (!candidate.ok()) continue;  // so small a budget may not pack
    const testing::PlanTrial trial = testing::try_plan(random_case.graph, random_case.machine, candidate->plan);
    EXPECT_TRUE(trial.accepted)
        << plan::verify_plan(random_case.graph, random_case.machine, candidate->plan)[0].message;
    EXPECT_FALSE(trial.race) << *trial.race;
    for (const PrefetchKey& key : options.left_out) {
      EXPECT_THAT(candidate->prefetches, ::testing::Not(::testing::Contains(key)));
    }
    left += count_of(options.left_out);
  }
  EXPECT_GT(left, 300) << "or this shows nothing";
}

// A search on a random step. Prefetches that are dearer than their use are made, so that there is something to try.
struct Trials {
  std::unique_ptr<RandomCase> random_case;
  std::unique_ptr<PlanSearch> search;
};

StepObservation with_stalls(const RandomCase& random_case, Seconds seconds, Seconds stall) {
  return {.seconds = seconds,
          .stalls = std::vector<Seconds>(static_cast<std::size_t>(random_case.graph.op_count()), stall)};
}

std::optional<Trials> trials_of(std::uint64_t seed, const char* tier) {
  Trials trials{std::make_unique<RandomCase>(seed, tier), nullptr};
  auto search = make_search("sentinel:additions=choice+staying", trials.random_case->request);
  if (!search.ok()) return std::nullopt;
  trials.search = std::move(search).value();
  return trials;
}

TEST(TestAndTrial, KeepsTheFasterWayOfEachOccurrence) {
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto trials = trials_of(seed, "optane");
    if (!trials || trials->search->done()) continue;
    PlanSearch& search = *trials->search;
    search.observe(with_stalls(*trials->random_case, 1.0, 0.1));  // every interval waits
    if (search.done()) continue;
    const plan::Plan first = search.best();
    EXPECT_NE(search.plan().migrations, first.migrations) << "the trial leaves prefetches out";
    search.observe(with_stalls(*trials->random_case, 1.1, 0.1));  // slower: the migration goes on
    EXPECT_EQ(search.best().migrations, first.migrations);
    if (search.done()) continue;
    const plan::Plan second_trial = search.plan();
    search.observe(with_stalls(*trials->random_case, 0.9, 0.1));  // faster: the tensors stay
    EXPECT_EQ(search.best().migrations, second_trial.migrations);
    ++tried;
  }
  EXPECT_GT(tried, 10);
}

TEST(TestAndTrial, TakesAtMostTwoStepsAnOccurrence) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto trials = trials_of(seed, "optane");
    if (!trials) continue;
    PlanSearch& search = *trials->search;
    while (!search.done()) search.observe(with_stalls(*trials->random_case, 1.0, 0.1));
    EXPECT_LE(search.report().steps, std::max(1, 2 * search.report().occasions));
  }
}

TEST(TestAndTrial, HasNothingToTryWhereOpsCannotUseTheSlowTier) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto trials = trials_of(seed, "pcie3");
    EXPECT_TRUE(!trials || trials->search->done());
  }
}

TEST(TestAndTrial, WithoutStallsThePlanStands) {
  auto trials = trials_of(3, "optane");
  ASSERT_TRUE(trials);
  if (!trials->search->done()) trials->search->observe({.seconds = 1, .stalls = {}});
  EXPECT_TRUE(trials->search->done());
}

}  // namespace
}  // namespace sluice::planners
