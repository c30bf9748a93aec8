// The planner of docs/researchers.md: that it is one, and that the page shows exactly this file.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"

namespace sluice::planners {

PlannerEntry belady_planner();  // what a line of the registry declares

}  // namespace sluice::planners

namespace sluice::tests {
namespace {

Bytes bytes_fetched(const graph::Graph& graph, const plan::Plan& plan) {
  Bytes sum = 0;
  for (const plan::Migration& migration : plan.migrations) {
    if (plan.residencies[migration.to].tier == memory::kFastTier) sum += graph.tensor(migration.tensor).bytes;
  }
  return sum;
}

std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// finish_plan() verifies. Sizes differ, so Belady's rule is no optimum here; it is hardly worse than the past as a guide.
TEST(ExamplePlanner, FetchesLessThanOnDemandInVerifiedPlans) {
  Bytes belady = 0, on_demand = 0;
  for (const char* model : {"resnet20", "plain20", "vgg11"}) {
    const planners::PlanningProblem problem(planners::merged_model(model, 8, 32), "file", 1e9);
    for (const double share : {0.3, 0.5}) {
      SCOPED_TRACE(share);
      const planners::PlanRequest request = problem.request(share);
      Result<plan::Plan> plan = planners::belady_planner().plan(request);
      const Result<plan::Plan> rival = planners::make_plan("on-demand", request);
      ASSERT_TRUE(plan.ok() && rival.ok()) << model;
      const plan::Plan finished = planners::finish_plan("belady", request, std::move(plan).value());
      EXPECT_LE(finished.arena_bytes[memory::kFastTier], request.budgets[memory::kFastTier]);
      belady += bytes_fetched(problem.graph, finished);
      on_demand += bytes_fetched(problem.graph, *rival);
    }
  }
  EXPECT_LT(belady, on_demand);
}

TEST(ExamplePlanner, IsTheFileThatThePageShows) {
  const std::string root = SLUICE_SOURCE_FOLDER;
  const std::string file = text_of_file(root + "/tests/planner/belady.cpp");
  const std::string page = text_of_file(root + "/docs/researchers.md");
  ASSERT_FALSE(file.empty() || page.empty());
  EXPECT_NE(page.find("```cpp\n" + file + "```\n"), std::string::npos) << "copy tests/planner/belady.cpp into the page";
}

}  // namespace
}  // namespace sluice::tests
