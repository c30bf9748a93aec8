#include "sluice/planners/ilp/integer_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "sluice/base/random.hpp"

namespace sluice::planners {
namespace {

constexpr SolveLimits kExact{.seconds = 20, .nodes = 100000, .gap = 0};

Column choice(double cost) { return {.cost = cost, .lower = 0, .upper = 1, .integer = true}; }

// Take the most valuable things that weigh at most 7: {3, 4} for 9 beats {5} for 8.
IntegerProgram knapsack() {
  IntegerProgram program;
  Row weight{.terms = {}, .upper = 7};
  for (const auto& [value, mass] : {std::pair{4.0, 3.0}, {5.0, 4.0}, {8.0, 5.0}}) {
    weight.terms.push_back({program.add(choice(-value)), mass});
  }
  program.rows.push_back(weight);
  return program;
}

TEST(IntegerProgram, TheKnapsacksOptimumIsFound) {
  const IlpSolution solution = solve(knapsack(), kExact);
  EXPECT_EQ(solution.status, SolveStatus::kOptimal);
  EXPECT_DOUBLE_EQ(solution.cost, -9);
  EXPECT_THAT(solution.values, ::testing::ElementsAre(1, 1, 0));
  EXPECT_EQ(describe(solution), "optimal");
}

TEST(IntegerProgram, TheRelaxationBoundsIt) {
  const LpSolution relaxed = solve_relaxation(knapsack(), 5);
  ASSERT_EQ(relaxed.status, SolveStatus::kOptimal);
  EXPECT_NEAR(relaxed.cost, -(8 + 4 * 2.0 / 3), 1e-9);  // 5 whole, then 2/3 of the first
}

// The first item alone is split: a unit of room is worth what the item is, by weight.
TEST(IntegerProgram, RowPricesAreThoseOfTheSimplexMethod) {
  const IntegerProgram program = knapsack();
  const std::vector<double> prices = find_row_prices(program, 5);
  ASSERT_EQ(prices.size(), program.rows.size());
  EXPECT_NEAR(prices[0], solve_relaxation(program, 5).row_prices[0], 1e-6);
  EXPECT_NEAR(prices[0], -4.0 / 3, 1e-6);
}

TEST(IntegerProgram, WhatCannotBeHasNoPrices) {
  IntegerProgram program = knapsack();
  program.rows.push_back({.terms = {{0, 1}, {1, 1}, {2, 1}}, .lower = 3});
  EXPECT_TRUE(find_row_prices(program, 5).empty());
}

TEST(IntegerProgram, WhatCannotBeIsInfeasible) {
  IntegerProgram program = knapsack();
  program.rows.push_back({.terms = {{0, 1}, {1, 1}, {2, 1}}, .lower = 3});
  EXPECT_EQ(solve(program, kExact).status, SolveStatus::kInfeasible);
  EXPECT_EQ(solve_relaxation(program, 5).status, SolveStatus::kInfeasible);
}

TEST(IntegerProgram, InfeasibleOnlyInIntegersIsInfeasibleToo) {
  IntegerProgram program;
  program.add(choice(1));
  program.rows.push_back({.terms = {{0, 2}}, .lower = 1, .upper = 1});
  EXPECT_EQ(solve_relaxation(program, 5).status, SolveStatus::kOptimal);
  EXPECT_EQ(solve(program, kExact).status, SolveStatus::kInfeasible);
}

// Multi-row knapsacks: small enough to try all 2^10 answers.
IntegerProgram random_program(std::uint64_t seed, int columns, int rows) {
  std::uint64_t draws = 0;
  const auto draw = [&](double from, double to) {
    return from + (to - from) * static_cast<double>(random_uniform(seed, 0, draws++));
  };
  IntegerProgram program;
  for (int i = 0; i < columns; ++i) program.add(choice(-draw(1, 2)));
  for (int r = 0; r < rows; ++r) {
    Row row{.terms = {}, .upper = 0.1 * columns};
    for (int i = 0; i < columns; ++i) row.terms.push_back({i, draw(0.1, 1)});
    program.rows.push_back(row);
  }
  return program;
}

TEST(IntegerProgram, IsAsGoodAsTryingEverything) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const IntegerProgram program = random_program(seed, 10, 3);
    double best = 0;
    for (int set = 0; set < 1024; ++set) {
      std::vector<double> values;
      for (int i = 0; i < 10; ++i) values.push_back((set >> i) & 1);
      if (program.violation(values) <= 1e-9) best = std::min(best, program.cost_of(values));
    }
    const IlpSolution solution = solve(program, kExact, std::vector<double>(10, 0.0));
    EXPECT_EQ(solution.status, SolveStatus::kOptimal);
    EXPECT_NEAR(solution.cost, best, 1e-9);
    EXPECT_LE(solve_relaxation(program, 5).cost, best + 1e-9);
  }
}

// With no time at all the start is the answer, and the status says that nothing is known of it.
TEST(IntegerProgram, OutOfTimeTheStartIsTheAnswer) {
  const IntegerProgram program = random_program(1, 400, 60);
  std::vector<double> start(400, 0.0);
  start[7] = 1;
  const IlpSolution solution = solve(program, {.seconds = 0, .nodes = 1, .gap = 0}, start);
  EXPECT_EQ(solution.status, SolveStatus::kTimeLimit);
  EXPECT_LE(program.violation(solution.values), 1e-6);
  EXPECT_LE(solution.cost, program.cost_of(start));
  EXPECT_THAT(describe(solution), ::testing::StartsWith("time limit, gap"));
}

TEST(IntegerProgram, TheNodeLimitLeavesAGapThatIsReported) {
  const IntegerProgram program = random_program(2, 200, 40);
  const IlpSolution solution =
      solve(program, {.seconds = 60, .nodes = 1, .columns = 1000, .gap = 0}, std::vector<double>(200, 0.0));
  EXPECT_EQ(solution.status, SolveStatus::kNodeLimit);
  EXPECT_GT(solution.gap(), 0);
  EXPECT_LE(solution.bound, solution.cost);
  EXPECT_GE(solution.bound, solve_relaxation(program, 5).cost - 1e-6);
  EXPECT_LE(program.violation(solution.values), 1e-6);
}

TEST(IntegerProgram, LargeProgramsAreOnlyRounded) {
  const IntegerProgram program = random_program(4, 300, 40);
  const IlpSolution solution = solve(program, {.gap = 0});
  EXPECT_EQ(solution.status, SolveStatus::kRounded);
  EXPECT_LE(program.violation(solution.values), 1e-6);
  EXPECT_LT(solution.gap(), 0.05);
  EXPECT_THAT(describe(solution), ::testing::StartsWith("rounded relaxation, gap"));
}

TEST(IntegerProgram, EqualProgramsGetEqualAnswers) {
  const IntegerProgram program = random_program(3, 150, 30);
  const SolveLimits limits{.seconds = 60, .nodes = 20, .columns = 1000, .gap = 0};
  const std::vector<double> start(150, 0.0);
  EXPECT_EQ(solve(program, limits, start).values, solve(program, limits, start).values);
}

TEST(IntegerProgram, WhoStopsItGetsTheBestSoFar) {
  const IntegerProgram program = random_program(5, 200, 40);
  const SolveLimits limits{.seconds = 60, .nodes = 100000, .columns = 1000, .gap = 0};
  int reports = 0;
  double bound = 0, incumbent = 0;
  const SolveWatch watch{.progress =
                             [&](double best, double least, Seconds) {
                               incumbent = best;
                               bound = least;
                               ++reports;
                             },
                         .stop = [&] { return reports >= 2; }};
  const IlpSolution solution = solve(program, limits, std::vector<double>(200, 0.0), watch);
  EXPECT_EQ(solution.status, SolveStatus::kStopped);
  EXPECT_GE(reports, 2);
  EXPECT_LE(bound, incumbent);
  EXPECT_LE(solution.cost, incumbent);
  EXPECT_LE(program.violation(solution.values), 1e-6);
  EXPECT_THAT(describe(solution), ::testing::StartsWith("stopped, gap"));
}

// What a rounding makes is taken where it satisfies the program, and nothing else is sought where that is good enough.
TEST(IntegerProgram, ARoundingThatKnowsTheColumnsIsEnough) {
  const IntegerProgram program = knapsack();
  const SolveLimits no_search{.seconds = 20, .nodes = 0, .columns = 0, .dives = 0, .gap = 0.2};
  std::vector<double> seen;
  const auto rounded = [&](const std::vector<double>& made) {
    return solve(program, no_search, {}, {}, [&, made](const std::vector<double>& relaxed) {
      seen = relaxed;
      return made;
    });
  };
  const IlpSolution solution = rounded({1, 1, 0});
  EXPECT_NEAR(seen[2], 1, 1e-9) << "5 whole, then a part of the first";
  EXPECT_EQ(solution.status, SolveStatus::kWithinGap);
  EXPECT_DOUBLE_EQ(solution.cost, -9);
  EXPECT_EQ(rounded({0, 0, 1}).status, SolveStatus::kRounded) << "not good enough, and nothing left to try";
  EXPECT_TRUE(rounded({1, 1, 1}).values.empty()) << "too heavy";
}

// Threads, lots and cuts change how the optimum is found.
TEST(IntegerProgram, IsTheSameWhateverTheSearch) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const IntegerProgram program = random_program(seed, 14, 3);
    SolveLimits limits{.seconds = 20, .nodes = 10000, .dives = 0, .gap = 0};
    const IlpSolution plain = solve(program, limits);
    limits.cuts = false;
    const IlpSolution without_cuts = solve(program, limits);
    limits.threads = 2;
    limits.seed = 7;
    const IlpSolution threaded = solve(program, limits);
    for (const IlpSolution* other : {&without_cuts, &threaded}) {
      ASSERT_EQ(plain.values.empty(), other->values.empty()) << "seed " << seed;
      EXPECT_NEAR(plain.cost, other->cost, 1e-6) << "seed " << seed;
    }
  }
}

// Clp is asked between its iterations, not only when it is done.
TEST(IntegerProgram, ItsRelaxationCanBeStopped) {
  int asked = 0;
  const IlpSolution solution =
      solve(random_program(1, 400, 60), {.seconds = 60}, {}, {.stop = [&] { return ++asked > 5; }});
  EXPECT_TRUE(solution.values.empty());
  EXPECT_EQ(solution.status, SolveStatus::kStopped);
  EXPECT_LT(asked, 100);
}

TEST(IntegerProgram, IsWrittenForOtherSolvers) {
  const std::string path = ::testing::TempDir() + "sluice_knapsack.mps";
  ASSERT_TRUE(write_mps(knapsack(), path).ok());
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const char* section : {"NAME", "ROWS", "COLUMNS", "BV BOUND", "RHS", "BOUNDS", "ENDATA"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(section));
  }
  std::remove(path.c_str());
}

TEST(IntegerProgram, AFileThatCannotBeWrittenIsAnError) {
  const Status written = write_mps(knapsack(), "/nowhere/knapsack.mps");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
}

TEST(IntegerProgram, AStartThatBreaksARowIsRefused) {
  EXPECT_THROW(solve(knapsack(), kExact, {1, 1, 1}), std::logic_error);
}

}  // namespace
}  // namespace sluice::planners
