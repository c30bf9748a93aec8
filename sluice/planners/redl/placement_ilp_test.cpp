#include "sluice/planners/redl/placement_ilp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/planners/redl/placement_program.hpp"
#include "sluice/planners/redl/problem_for_tests.hpp"

namespace sluice::planners {
namespace {

using testing::RedlStep;
using testing::step_of_uses;

constexpr StretchRules kAllCandidates{.small_bytes = 0, .short_gaps = true};
constexpr SolveLimits kToTheOptimum{.seconds = 30, .nodes = 100000, .gap = 0};
constexpr Capacities kRoomy{.fast = kGiB, .slow = kGiB};

std::vector<std::string> random_uses(std::uint64_t seed) {
  std::uint64_t draws = 0;
  const auto draw = [&](int below) { return static_cast<int>(random_bits(seed, 1, draws++) % below); };
  std::vector<std::string> tensors;
  for (int i = 0; i < 3; ++i) {
    std::string uses(8, '.');
    for (char& use : uses) use = draw(3) == 0 ? 'r' : '.';
    uses[as_index(draw(2))] = 'w';
    uses[as_index(6 + draw(2))] = 'r';
    for (std::size_t op = 0; uses[op] != 'w'; ++op) uses[op] = '.';
    tensors.push_back(uses);
  }
  tensors[0][7] = 'u';
  tensors[0].insert(0, "*");
  return tensors;
}

// The least cost of all choices whose loads fit; infinite when none do.
double best_of_all(const PlacementProgram& program, std::vector<UnitPlacement> choices) {
  std::vector<std::pair<std::size_t, std::size_t>> fast, kept;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (std::size_t s = 0; s < program.fast_of[i].size(); ++s) {
      if (program.fast_of[i][s] != kAlways) fast.push_back({i, s});
    }
    for (std::size_t gap = 0; gap < program.kept_of[i].size(); ++gap) kept.push_back({i, gap});
  }
  double best = kUnbounded;
  for (std::uint64_t set = 0; set < std::uint64_t{1} << (fast.size() + kept.size()); ++set) {
    for (std::size_t b = 0; b < fast.size(); ++b) choices[fast[b].first].fast[fast[b].second] = (set >> b) & 1;
    for (std::size_t b = 0; b < kept.size(); ++b) {
      choices[kept[b].first].kept[kept[b].second] = (set >> (fast.size() + b)) & 1;
    }
    const std::vector<double> values = program.complete(choices);
    if (program.ilp.violation(values) < 1e-9) best = std::min(best, program.ilp.cost_of(values));
  }
  return best;
}

TEST(PlacementIlp, IsAsGoodAsTryingEverything) {
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    for (const memory::TierKind slow : {memory::TierKind::kEmulated, memory::TierKind::kFile}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const RedlStep step(step_of_uses(random_uses(seed), kMiB), slow);
      const auto units = find_stretches(step.problem, kAllCandidates);
      const Capacities capacities{.fast = 2 * kMiB, .slow = kGiB};
      const auto program = write_program(step.problem, units, capacities);
      const auto placement = place(step.problem, units, capacities, kToTheOptimum);
      ASSERT_EQ(program.has_value(), placement.has_value());
      if (!program || placement->columns == 0) continue;
      std::vector<UnitPlacement> choices;
      for (const StretchedUnit& unit : units) {
        choices.push_back({std::vector<bool>(unit.stretches.size(), true), std::vector<bool>(unit.gap_count(), true)});
      }
      const double best = best_of_all(*program, choices) * program->seconds_per_unit - step.problem.start.back();
      EXPECT_NEAR(placement->lost_seconds, best, 1e-7);
      ++solved;
    }
  }
  EXPECT_GE(solved, 12) << "or this shows little";
}

TEST(PlacementIlp, EverythingIsFastWhereEverythingFits) {
  const RedlStep step(step_of_uses({"w.....r", ".w...r."}, kMiB), memory::TierKind::kEmulated);
  const auto placement = place(step.problem, find_stretches(step.problem, kAllCandidates), kRoomy, kToTheOptimum);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->status, "optimal");
  for (const UnitPlacement& unit : placement->units) {
    EXPECT_THAT(unit.fast, ::testing::Each(true));
    EXPECT_THAT(unit.kept, ::testing::Each(true));
  }
}

TEST(PlacementIlp, WhatCannotLeaveMustFit) {
  const RedlStep step(step_of_uses({"wr", "wr"}, kMiB), memory::TierKind::kFile);
  const auto units = find_stretches(step.problem, kAllCandidates);
  EXPECT_FALSE(place(step.problem, units, {.fast = 2 * kMiB - 4096, .slow = kGiB}, kToTheOptimum));
  EXPECT_TRUE(place(step.problem, units, {.fast = 2 * kMiB, .slow = kGiB}, kToTheOptimum));
}

// The paper's fig. 4(b): with room for one of them, the output is in fast memory and the input in slow.
TEST(PlacementIlp, PrefersTheOutputInFastMemoryWhereWritesAreSlower) {
  RedlStep step(step_of_uses({"w......r.......", ".......w......r"}, kMiB), memory::TierKind::kEmulated);
  step.machine.tiers[1].write_bandwidth = 1e8;
  for (memory::Link& link : step.machine.links) link.bandwidth = 1e7;  // copying is no way out
  const auto units = find_stretches(step.problem, kAllCandidates);
  const auto placement = place(step.problem, units, {.fast = kMiB, .slow = kGiB}, kToTheOptimum);
  ASSERT_TRUE(placement);
  EXPECT_FALSE(placement->units[step.unit_of(0)].fast[1]) << "the input of op 7";
  EXPECT_TRUE(placement->units[step.unit_of(1)].fast[0]) << "its output";
}

profile::OpConfigurations measured(Seconds input, Seconds output, Seconds both) {
  profile::OpConfigurations configurations;
  const Seconds alone = 1e-3;
  for (const auto& [slow, extra] : {std::pair{profile::OperandSet{0}, 0.0}, {1, input}, {2, output}, {3, both}}) {
    configurations.push_back({.slow = slow, .timing = profile::summarize({alone + extra})});
  }
  return configurations;
}

// Operands that hide behind each other: with one in the slow tier the other may as well be there.
TEST(PlacementIlp, ReckonsWithMeasuredConfigurations) {
  RedlStep step(step_of_uses({"w.r..", "..w.r"}, kMiB), memory::TierKind::kEmulated);
  auto times = std::make_shared<profile::PlacementTimes>();
  times->tier = profile::tier_key(step.machine.tier(1));
  times->distinct = {measured(2e-3, 2e-3, 2e-3)};
  times->index = {-1, -1, 0, -1, -1};
  step.profile.placements = {times};
  const profile::CostModel costs(step.graph, step.profile, step.machine);
  const RedlProblem problem{step.graph,        step.machine, step.liveness, step.units, costs, {testing::kSlowOfTests},
                            step.problem.start};
  const std::vector<StretchedUnit> units = find_stretches(problem, kAllCandidates);
  const auto program = write_program(problem, units, {.fast = kMiB, .slow = kGiB});
  ASSERT_TRUE(program);
  ASSERT_EQ(program->configurations.size(), 1U);
  const int first = program->configurations[0].first;
  // Besides what was measured, the delay that an emulated tier adds: reading the first hides behind the op's 2 ms,
  // writing the second does not.
  const Seconds delay = kMiB * (1e-9 - 1e-12);
  for (const auto& [set, delays] : {std::pair{1, 0}, {2, 1}, {3, 1}}) {
    const double cost = program->ilp.columns[first + set].cost;
    EXPECT_NEAR(cost * program->seconds_per_unit, 2e-3 + delays * delay, 1e-9);
  }
}

// Constraint (3): no more is ever in the slow tier than fits there.
TEST(PlacementIlp, RespectsTheSlowTiersCapacity) {
  const RedlStep step(step_of_uses({"w.......r", ".w.....r.", "..w...r..", "...w.r..."}, kMiB),
                      memory::TierKind::kEmulated);
  const auto units = find_stretches(step.problem, kAllCandidates);
  for (const int slow_tensors : {2, 3}) {
    const auto placement =
        place(step.problem, units, {.fast = (4 - slow_tensors) * kMiB, .slow = slow_tensors * kMiB}, kToTheOptimum);
    ASSERT_TRUE(placement);
    int ever = 0;
    for (const UnitPlacement& unit : placement->units) {
      const bool stays = std::ranges::count(unit.fast, false) + std::ranges::count(unit.kept, false) == 0;
      ever += stays ? 0 : 1;
    }
    EXPECT_EQ(ever, slow_tensors);
  }
  EXPECT_FALSE(place(step.problem, units, {.fast = 2 * kMiB, .slow = kMiB}, kToTheOptimum)) << "too little altogether";
}

// The same four tensors; room in nearer tiers was given out with them.
TEST(PlacementIlp, CountsOnlyWhatIsInTheFarthestTier) {
  RedlStep step(step_of_uses({"w.......r", ".w.....r.", "..w...r..", "...w.r..."}, kMiB), memory::TierKind::kEmulated,
                1e-3,
                /*farther=*/true);
  for (const std::size_t i : {0, 1}) step.units[i].slow = testing::kFartherOfTests;
  const auto units = find_stretches(step.problem, kAllCandidates);
  EXPECT_TRUE(place(step.problem, units, {.fast = 2 * kMiB, .slow = 2 * kMiB}, kToTheOptimum));
  EXPECT_TRUE(place(step.problem, units, {.fast = 2 * kMiB, .slow = kMiB}, kToTheOptimum));
  EXPECT_TRUE(place(step.problem, units, {.fast = kMiB, .slow = kMiB}, kToTheOptimum));
  EXPECT_FALSE(place(step.problem, units, {.fast = kMiB, .slow = kMiB / 2}, kToTheOptimum));
}

TEST(LoadRows, OnlyOpsWithAMaximumCount) {
  const std::vector<LoadSpan> spans{{{0, 4}, 0, 1}, {{1, 3}, 1, 1}, {{3, 6}, 2, 1}, {{5, 6}, 3, 1}};
  EXPECT_THAT(maxima_of(spans, 7), ::testing::ElementsAre(2, 3, 5));
  EXPECT_THAT(whole_load(spans, 7), ::testing::ElementsAre(1, 2, 2, 2, 1, 2, 0, 0));
}

}  // namespace
}  // namespace sluice::planners
