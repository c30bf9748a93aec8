// Random graphs with random plans through verifier, lowering and the adversarial run of the oracle.
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/program/program.hpp"
#include "sluice/testing/program_oracle.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/random/random_step.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::plan {
namespace {

// Half of them with several processors, and with choices of implementations.
struct Case {
  explicit Case(std::uint64_t seed) : graph(testing::random_graph(seed)), machine(testing::random_machine(seed)) {
    if (seed % 2 == 0) {
      plan = testing::random_plan(seed, graph, machine);
      return;
    }
    testing::add_random_processors(seed, machine);
    plan = testing::random_plan_of_step(seed, graph, machine, testing::random_step(seed, graph, machine));
  }
  graph::Graph graph;
  memory::Machine machine;
  Plan plan;
};

std::string first_message(const std::vector<Violation>& violations) {
  if (violations.empty()) return "";
  return std::string(to_string(violations.front().rule)) + ": " + violations.front().message;
}

TEST(RandomPlans, AreAcceptedAndRunRightInAnyOrder) {
  std::size_t migrations = 0, waits = 0, op_waits = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    const Case c(seed);
    const auto violations = verify_plan(c.graph, c.machine, c.plan);
    ASSERT_TRUE(violations.empty()) << first_message(violations);
    const program::Program program = program::lower_plan(c.graph, c.machine, c.plan).value();
    for (std::uint64_t order = 0; order < 3; ++order) {
      const auto race = testing::find_race(PlanGraph(c.graph, c.plan).graph(), program, 3 * seed + order);
      ASSERT_FALSE(race) << *race;
    }
    migrations += c.plan.migrations.size();
    const auto count = [&](const auto& instruction) {
      waits += instruction.waits.size();
      op_waits += instruction.op_waits.size();
    };
    std::ranges::for_each(program.compute, count);
    std::ranges::for_each(program.transfers, count);
  }
  EXPECT_GT(migrations, 1500u * 20);  // the plans are not trivial
  EXPECT_GT(waits, 1500u * 20);
  EXPECT_GT(op_waits, 750u * 5);
}

// Changes one number of the plan, or drops or swaps migrations: sometimes harmless, mostly not.
void disturb(Plan& plan, testing::SeededRandom& random) {
  Residency& residency = plan.residencies[random.between<std::size_t>(0, plan.residencies.size() - 1)];
  if (plan.migrations.empty()) return;
  const auto index = random.between<std::size_t>(0, plan.migrations.size() - 1);
  Migration& migration = plan.migrations[index];
  const graph::OpIndex shift = random.chance(0.5) ? 1 : -1;
  switch (random.between(0, 8)) {
    case 0:
      residency.ops.begin += shift;
      break;
    case 1:
      residency.ops.end += shift;
      break;
    case 2:
      residency.offset += shift * memory::kBlockAlignment;
      break;
    case 3:
      migration.issue_after += shift;
      break;
    case 4:
      migration.needed_by += shift;
      break;
    case 5:
      plan.migrations.erase(plan.migrations.begin() + static_cast<std::ptrdiff_t>(index));
      break;
    case 6:
      std::swap(migration, plan.migrations[index / 2 * 2]);
      break;
    case 7:
      std::swap(migration.from, migration.to);
      break;
    default:
      migration.from = random.between<ResidencyIndex>(0, as_id<ResidencyIndex>(plan.residencies.size()) - 1);
  }
}

TEST(RandomPlans, WhatTheVerifierAcceptsRunsRightInAnyOrder) {
  int accepted = 0, rejected = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Case c(seed % 600);
    testing::SeededRandom random(seed);
    for (int changes = random.between(1, 3); changes > 0; --changes) disturb(c.plan, random);
    for (Bytes& budget : c.plan.budgets) budget += memory::kBlockAlignment;  // so that a shifted offset can be right
    c.plan.arena_bytes = c.plan.budgets;
    const testing::PlanTrial trial = testing::try_plan(c.graph, c.machine, c.plan);
    ++(trial.accepted ? accepted : rejected);
    ASSERT_FALSE(trial.race) << *trial.race;
  }
  EXPECT_GT(accepted, 300);
  EXPECT_GT(rejected, 300);
}

// Every wait of a program, for a transfer or an op of another processor, as the list it is in and its place there.
// (TransferIndex and OpIndex are one type.)
std::vector<std::pair<std::vector<std::int32_t>*, std::size_t>> all_waits(program::Program& program) {
  std::vector<std::pair<std::vector<std::int32_t>*, std::size_t>> waits;
  const auto add = [&](auto& instruction) {
    for (std::vector<std::int32_t>* list : {&instruction.waits, &instruction.op_waits}) {
      for (std::size_t i = 0; i < list->size(); ++i) waits.emplace_back(list, i);
    }
  };
  std::ranges::for_each(program.compute, add);
  std::ranges::for_each(program.transfers, add);
  return waits;
}

TEST(RandomPlans, OracleFindsTheRaceWhenAWaitIsRemoved) {
  int removed = 0, caught = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Case c(seed);
    program::Program program = program::lower_plan(c.graph, c.machine, c.plan).value();
    const auto waits = all_waits(program);
    if (waits.empty()) continue;
    const auto& [list, index] = waits[seed % waits.size()];
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(index));
    ++removed;
    bool found = false;
    for (std::uint64_t order = 0; order < 100 && !found; ++order) {
      found = testing::find_race(PlanGraph(c.graph, c.plan).graph(), program, order).has_value();
    }
    caught += found ? 1 : 0;
  }

  EXPECT_GT(removed, 250);
  EXPECT_GT(caught, removed * 8 / 10) << "of " << removed;
}

}  // namespace
}  // namespace sluice::plan
