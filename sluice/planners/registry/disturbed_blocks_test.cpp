// The verifier from the other side, on plans with blocks: what it still accepts after a plan was disturbed runs right
// in any order. (Plans without blocks: plan/verify/random_plans_test.cpp.)
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/memory/presets.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"
#include "sluice/testing/program_oracle.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::planners {
namespace {

struct Case {
  graph::Graph graph;
  memory::Machine machine;
  plan::Plan plan;
};

// A plan with blocks for a random graph of small tensors; none where the budget is too small.
std::optional<Case> block_case(std::uint64_t seed) {
  graph::Graph graph = testing::random_graph(seed, {.most_bytes = 3000});
  const memory::MachineOptions options{.threads = 1, .slow = {{"file"}}, .link_bandwidth = 1e9};
  memory::Machine machine = memory::make_machine(options).value();
  profile::Profile profile;
  profile.op_seconds.assign(graph.ops().size(), 1e-6);
  const Bytes fast = align_down(fast_only_bytes(graph) / 2, memory::kBlockAlignment);
  Result<plan::Plan> plan = make_plan("sentinel", {graph, profile, machine, {fast, kGiB}});
  if (!plan.ok() || plan->blocks.empty()) return std::nullopt;
  return Case{std::move(graph), std::move(machine), std::move(plan).value()};
}

// Changes a block's members or their order, or does something to one residency of a block or to all, or to the
// migrations from and to them.
void disturb(plan::Plan& plan, testing::SeededRandom& random) {
  if (plan.blocks.empty()) return;
  const std::size_t index = random.between<std::size_t>(0, plan.blocks.size() - 1);
  plan::Block& block = plan.blocks[index];
  const std::size_t first = random.between<std::size_t>(0, block.members.size() - 1);
  std::vector<plan::ResidencyIndex> members = block.members;
  if (random.chance(0.5)) members = {block.members[first]};
  const graph::OpIndex shift = random.chance(0.5) ? 1 : -1;
  const int change = random.between(0, 8);
  if (change == 6) return std::swap(block.members[first], block.members.front());
  if (change == 7) return void(block.members.erase(block.members.begin() + static_cast<std::ptrdiff_t>(first)));
  if (change == 8) return void(plan.blocks.erase(plan.blocks.begin() + static_cast<std::ptrdiff_t>(index)));
  for (const plan::ResidencyIndex member : members) {
    plan::Residency& residency = plan.residencies[member];
    if (change == 0) residency.ops.begin += shift;
    if (change == 1) residency.ops.end += shift;
    if (change == 2)
      residency.offset += shift * (members.size() == 1 ? plan::kOperandAlignment : memory::kBlockAlignment);
    for (plan::Migration& migration : plan.migrations) {
      if (migration.from != member && migration.to != member) continue;
      if (change == 3) migration.issue_after += shift;
      if (change == 4) migration.needed_by += shift;
    }
    if (change == 5) std::erase_if(plan.migrations, [&](const plan::Migration& m) { return m.to == member; });
  }
}

TEST(DisturbedBlocks, RunRightInAnyOrderWhereTheVerifierAcceptsThem) {
  int accepted = 0, rejected = 0;
  for (std::uint64_t seed = 0; seed < 1600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto found = block_case(seed);
    for (std::uint64_t round = 0; found && round < 20; ++round) {
      Case c = *found;
      testing::SeededRandom random(20 * seed + round);
      for (int changes = random.between(1, 2); changes > 0; --changes) disturb(c.plan, random);
      for (Bytes& bytes : c.plan.arena_bytes)
        bytes += memory::kBlockAlignment;  // so that a shifted offset can be right
      for (std::size_t tier = 0; tier < c.plan.budgets.size(); ++tier) {
        c.plan.budgets[tier] = std::max(c.plan.budgets[tier], c.plan.arena_bytes[tier]);
      }
      const testing::PlanTrial trial = testing::try_plan(c.graph, c.machine, c.plan);
      ++(trial.accepted ? accepted : rejected);
      ASSERT_FALSE(trial.race) << *trial.race;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(rejected, 100);
}

}  // namespace
}  // namespace sluice::planners
