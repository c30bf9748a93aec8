// What planners declare about themselves, against the plans that they make.
#include "sluice/planners/planner_traits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/registry/registry.hpp"

namespace sluice::planners {
namespace {

// Some planners need all that everything takes, or more, and move nevertheless.
constexpr double kTraitShares[] = {0.5, 0.8, 1.2};

// Optane, of which there is a little, then a file.
PlanningProblem with_two_slow_tiers() {
  PlanningProblem problem(merged_model("resnet20", 4, 32), "optane", 1e9);
  memory::Tier file = problem.machine.tiers.back();
  file.name = "file";
  file.kind = memory::TierKind::kFile;
  file.addressable = false;
  problem.machine.tiers.push_back(file);
  for (memory::Link link : std::vector<memory::Link>(problem.machine.links)) {
    if (link.from == 1) link.from = 2;
    if (link.to == 1) link.to = 2;
    problem.machine.links.push_back(link);
  }
  return problem;
}

// What was seen in plans at several budgets.
struct SeenTraits {
  int plans = 0;
  bool moves = false, recomputes = false, reorders = false, moves_parameters = false, several_tiers = false;

  void add(const graph::Graph& graph, const plan::Plan& plan) {
    ++plans;
    moves = moves || !plan.migrations.empty();
    std::set<graph::OpIndex> ran;
    graph::OpIndex latest = -1;  // of ops that run for the first time
    for (const graph::OpIndex op : plan.schedule) {
      const bool again = !ran.insert(op).second;
      recomputes = recomputes || again;
      reorders = reorders || (!again && op < latest);
      latest = std::max(latest, op);
    }
    std::set<memory::TierId> slow;
    for (const plan::Residency& residency : plan.residencies) {
      if (residency.tier == memory::kFastTier) continue;
      slow.insert(residency.tier);
      const graph::TensorId tensor = residency.tensor;
      if (tensor < graph.tensor_count() && is_persistent(graph.tensor(tensor).role)) moves_parameters = true;
    }
    several_tiers = several_tiers || slow.size() > 1;
  }
};

SeenTraits seen_of(std::string_view planner, const PlanningProblem& problem, std::vector<Bytes> slow_budgets = {}) {
  SeenTraits seen;
  for (const double share : kTraitShares) {
    PlanRequest request = problem.request(share);
    if (!slow_budgets.empty()) {
      request.budgets.resize(1);
      request.budgets.insert(request.budgets.end(), slow_budgets.begin(), slow_budgets.end());
    }
    if (const Result<plan::Plan> plan = make_plan(planner, request); plan.ok()) seen.add(problem.graph, *plan);
  }
  return seen;
}

class DeclaredTraits : public ::testing::TestWithParam<std::string> {
 protected:
  const PlannerTraits& traits() const { return find_planner(GetParam())->traits; }
};

// No plan does what its planner says that it does not; and those who say that they move do so.
TEST_P(DeclaredTraits, PlansDoWhatIsSaidAndNothingElse) {
  bool moved = false;
  for (const char* const tier : {"file", "optane"}) {
    SCOPED_TRACE(tier);
    PlanningProblem problem(merged_model("resnet20", 4, 32), tier, 1e9);
    problem.add_host_for(GetParam());
    const SeenTraits seen = seen_of(GetParam(), problem);
    if (tier == std::string("optane")) {
      EXPECT_GT(seen.plans, 0) << "nothing to judge it by";
    }
    moved = moved || seen.moves;
    EXPECT_TRUE(traits().moves || !seen.moves) << "moves";
    EXPECT_TRUE(traits().recomputes || !seen.recomputes) << "recomputes";
    EXPECT_TRUE(traits().reorders || !seen.reorders) << "reorders";
    EXPECT_TRUE(traits().all_tensors || !seen.moves_parameters) << "parameters move";
  }
  EXPECT_EQ(moved, traits().moves);
}

TEST_P(DeclaredTraits, SeveralTiersAreUsedByThoseThatSaySo) {
  const PlanningProblem problem = with_two_slow_tiers();
  const SeenTraits seen = seen_of(GetParam(), problem, {2 * kMiB, kGiB});
  if (seen.plans > 0) {
    EXPECT_EQ(seen.several_tiers, traits().several_tiers);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, DeclaredTraits, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const PlannerEntry& entry : planners()) names.emplace_back(entry.name);
                           return names;
                         }()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace sluice::planners
