// Kept problems are planned for as the graphs they come from, and files that are none are refused.
#include "benchmarks/planners/kept_problem.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "benchmarks/planners/kept_machines.hpp"
#include "benchmarks/planners/planner_rows.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::benchmarks {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// With batch norms that are made again, so that equal ops are to be known as such.
KeptProblem small_problem() {
  planners::PlanningProblem problem(planners::merged_model("resnet20", 4, 32), "file", 1e9);
  for (Seconds& seconds : problem.profile.op_seconds) seconds = std::round(seconds * 1e7) / 1e7;  // as they are kept
  return {"resnet20", 4, "nothing", std::move(problem.graph), std::move(problem.profile)};
}

TEST(KeptProblem, IsPlannedForAsTheGraphItComesFrom) {
  const KeptProblem given = small_problem();
  const KeptProblem kept = *problem_from_json(json::parse(problem_json(given).dump()));
  const Bytes whole = planners::fast_only_bytes(given.graph);
  ASSERT_EQ(planners::fast_only_bytes(kept.graph), whole);
  for (const KeptMachine& on : kept_machines(whole)) {
    for (const char* planner : {"fast-only", "sentinel", "joint"}) {
      SCOPED_TRACE(on.name + ", " + planner);
      const auto planned = [&](const KeptProblem& problem) {
        planners::PlanRequest request{problem.graph, problem.profile, on.machine, {}};
        for (const memory::Tier& tier : on.machine.tiers) request.budgets.push_back(tier.capacity);
        if (planner != planners::kBaselinePlanner)
          request.budgets[memory::kFastTier] = align_down(whole / 2, memory::kBlockAlignment);
        return planners::make_plan(planner, request).value();
      };
      const plan::Plan expected = planned(given), found = planned(kept);
      EXPECT_NEAR(found.predicted_step_seconds, expected.predicted_step_seconds, 1e-9);
      EXPECT_EQ(found.schedule, expected.schedule);
      EXPECT_EQ(found.migrations.size(), expected.migrations.size());
    }
  }
}

struct BadProblem {
  const char* name;
  std::function<void(json&)> spoil;
  std::string message;
};

class BadProblemTest : public ::testing::TestWithParam<BadProblem> {};

TEST_P(BadProblemTest, IsRefused) {
  json document = problem_json(small_problem());
  GetParam().spoil(document);
  const Result<KeptProblem> problem = problem_from_json(document);
  ASSERT_FALSE(problem.ok());
  EXPECT_EQ(problem.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(problem.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadProblemTest,
    ::testing::Values(
        BadProblem{"OtherFormat", [](json& d) { d["format"] = "sluice-plan"; }, "expected sluice-problem"},
        BadProblem{"OtherVersion", [](json& d) { d["version"] = 2; }, "version 1"},
        BadProblem{"NoOps", [](json& d) { d.erase("ops"); }, "ops"},
        BadProblem{"ShortColumn", [](json& d) { d["ops"]["kind"].erase(0); }, "columns of different lengths"},
        BadProblem{"UnknownKind", [](json& d) { d["ops"]["kind"][3] = "fly"; }, "unknown word 'fly'"},
        BadProblem{"UnknownTensor", [](json& d) { d["ops"]["inputs"][3] = {100000}; }, "unknown tensor"},
        BadProblem{"NegativeTensor", [](json& d) { d["ops"]["outputs"][3] = {-1}; }, "unknown tensor"},
        BadProblem{"NegativeTime", [](json& d) { d["ops"]["microseconds"][3] = -1; }, "times from 0"},
        BadProblem{"NoBytes", [](json& d) { d["tensors"]["bytes"][0] = 0; }, "above 0"},
        BadProblem{"NoSuchLayer", [](json& d) { d["ops"]["layer"][0] = 30000; }, "layer that there is not"}),
    [](const auto& each) { return each.param.name; });

// A policy has steps instead of a plan: figures like a planner's, but no bound. One that cannot use the tier says so.
TEST(PlannerRows, HavePoliciesBesidePlanners) {
  const KeptProblem problem = small_problem();
  constexpr std::size_t kPcieMachine = 4, kOptaneMachine = 6, kPmbdMachine = 7;
  const std::vector<PlannerRow> rows =
      rows_of(problem, {{"memory-mode", "sentinel"}, {kPcieMachine, kOptaneMachine, kPmbdMachine}, {40}});
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_THAT(rows[0].failure, HasSubstr("memory-mode"));
  for (const std::size_t policy : {2U, 4U}) {
    SCOPED_TRACE(rows[policy].machine);
    EXPECT_EQ(rows[policy].failure, "");
    EXPECT_EQ(rows[policy].budget, rows[policy].asked);
    EXPECT_GT(rows[policy].slowdown, rows[policy + 1].slowdown) << "sentinel knows what comes next";
    EXPECT_EQ(rows[policy].bound, 0);
    EXPECT_GT(rows[policy + 1].bound, 0);
  }
}

}  // namespace
}  // namespace sluice::benchmarks
