// Planners that search or make again, where they have little to choose: nothing that may run again, no slow memory to
// swap to, or no time to search.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/planners/registry/advice.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/testing/random/random_graph.hpp"

namespace sluice::planners {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kParts = 8;  // of the step below

// A step in which nothing may run again: data comes in, each with labels, and is added to parameters. What came in lies
// there until its update, so half of the memory is feature maps. `updates`: else nothing but inputs.
graph::Graph step_of_inputs(bool updates) {
  graph::Graph graph;
  graph.name = "inputs";
  const auto tensor = [&](const std::string& name, graph::Role role) {
    return graph.add_tensor({.name = name, .shape = {kMiB / 4}, .role = role, .bytes = kMiB});
  };
  std::vector<graph::TensorId> data;
  for (int part = 0; part < kParts; ++part) {
    const std::string number = std::to_string(part);
    graph.layers.push_back("layer" + number);
    data.push_back(tensor("data" + number, graph::Role::kInput));
    graph.add_op({.name = "input" + number, .kind = graph::OpKind::kInput, .outputs = {data.back()}, .layer = part});
  }
  for (int part = kParts - 1; part >= 0 && updates; --part) {
    const graph::TensorId parameter = tensor("parameter" + std::to_string(part), graph::Role::kParameter);
    graph.add_op({.name = "update" + std::to_string(part),
                  .kind = graph::OpKind::kSgdUpdate,
                  .inputs = {parameter, data[as_index(part)]},
                  .outputs = {parameter},
                  .layer = part,
                  .phase = graph::Phase::kBackward});
  }
  return graph;
}

// Executions of ops beyond their first.
std::vector<graph::OpIndex> runs_beyond_the_first(const plan::Plan& plan) {
  std::set<graph::OpIndex> ran;
  std::vector<graph::OpIndex> again;
  for (const graph::OpIndex op : plan.schedule) {
    if (!ran.insert(op).second) again.push_back(op);
  }
  return again;
}

bool was_interrupted(const plan::Plan& plan) {
  return std::ranges::any_of(plan.planner_config, [](const auto& each) { return each.first == "stopped_early"; });
}

void expect_explained(std::string_view planner, const PlanRequest& request) {
  const Result<plan::Plan> plan = make_plan(planner, request);
  ASSERT_FALSE(plan.ok());
  EXPECT_TRUE(wants_more_room(plan.error().code));
  EXPECT_THAT(advised(planner, request, plan.error()).message,
              AllOf(HasSubstr("cannot train"), HasSubstr("of fast memory"), HasSubstr("--fast")));
}

struct Contestant {
  const char* name;  // as users write it
  bool swaps = false;
  bool makes_again = false;
};

constexpr Contestant kContestants[] = {{"home:particles=60:iterations=30", true, true},
                                       {"capuchin", true, true},
                                       {"superneurons", true, true},
                                       {"swapadvisor:population=8:generations=4", true, false},
                                       {"checkmate", false, true},
                                       {"joint", true, true},
                                       {"chen-sqrt", false, true}};

class LittleChoice : public ::testing::TestWithParam<Contestant> {
 protected:
  // Superneurons makes rules of types of ops: it swaps convolutions, and needs slow memory for them.
  bool is_rule() const { return std::string_view(GetParam().name) == "superneurons"; }
};

TEST_P(LittleChoice, WhatMayNotRunAgainIsSwappedOrTheAnswerSaysWhyNot) {
  const PlanningProblem problem(step_of_inputs(true), "file", 1e9);
  const Result<plan::Plan> plan = make_plan(GetParam().name, problem.request(0.75));
  if (!GetParam().swaps || is_rule()) {
    expect_explained(GetParam().name, problem.request(0.75));
    return;
  }
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(runs_beyond_the_first(*plan).empty());
  EXPECT_FALSE(plan->migrations.empty());
}

TEST_P(LittleChoice, AStepOfInputsAloneHasAPlanThatDoesNothing) {
  const PlanningProblem problem(step_of_inputs(false), "file", 1e9);
  const Result<plan::Plan> plan = make_plan(GetParam().name, problem.request(1));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(runs_beyond_the_first(*plan).empty());
  EXPECT_TRUE(plan->migrations.empty());
  PlanRequest none = problem.request(1);
  none.budgets[memory::kFastTier] = memory::kBlockAlignment;
  expect_explained(GetParam().name, none);
}

TEST_P(LittleChoice, WithoutRoomToSwapItMakesAgainOrSaysThatSlowTiersFillUp) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 1e9);
  for (const Bytes slow : {Bytes{0}, kMiB}) {
    SCOPED_TRACE(slow);
    PlanRequest request = problem.request(0.65);
    request.budgets[1] = slow;
    const Result<plan::Plan> plan = make_plan(GetParam().name, request);
    if (!GetParam().makes_again || is_rule()) {
      expect_explained(GetParam().name, request);
      EXPECT_THAT(advised(GetParam().name, request, plan.error()).message, HasSubstr("the slow tiers fill up"));
      continue;
    }
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_FALSE(runs_beyond_the_first(*plan).empty());
    EXPECT_LE(plan->arena_bytes[memory::kFastTier], request.budgets[memory::kFastTier]);
    EXPECT_LE(plan->arena_bytes[1], slow);
  }
}

// make_plan() verifies; this looks at what the verifier looks at, by itself.
TEST_P(LittleChoice, OnlyWhatMayRepeatRunsAgain) {
  constexpr std::uint64_t kResnet = 6;  // behind so many random ones
  int repeating = 0;
  for (std::uint64_t seed = 0; seed <= kResnet; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const PlanningProblem problem(seed < kResnet ? testing::random_graph(seed) : merged_model("resnet20", 8, 32),
                                  "file", 1e8);
    for (const double share : {0.6, 1.0}) {
      const Result<plan::Plan> plan = make_plan(GetParam().name, problem.request(share));
      if (!plan.ok()) {
        EXPECT_TRUE(wants_more_room(plan.error().code)) << plan.error().message;
        continue;
      }
      const std::vector<graph::OpIndex> again = runs_beyond_the_first(*plan);
      for (const graph::OpIndex op : again)
        EXPECT_TRUE(graph::may_repeat(problem.graph.op(op).kind)) << problem.graph.op(op).name;
      repeating += again.empty() ? 0 : 1;
    }
  }
  EXPECT_EQ(repeating > 0, GetParam().makes_again) << "or this shows nothing";
}

// Told to stop once it has asked so often: a verified plan that says so, or an error that does.
TEST_P(LittleChoice, InterruptedItHasAPlanThatSaysSoOrAnErrorThatDoes) {
  const PlanningProblem problem(merged_model("resnet20", 8, 32), "file", 3e8);
  for (const int after : {0, 1, 5, 100}) {
    SCOPED_TRACE(after);
    int asked = 0;
    PlanRequest request = problem.request(0.65);
    const bool in_time = after != 5;
    request.watch = std::make_shared<const PlanningWatch>(
        PlanningWatch{.stop = [&] { return asked++ >= after; }, .out_of_time = [&] { return !in_time; }});
    const Result<plan::Plan> plan = make_plan(GetParam().name, request);
    const bool heard = asked > after;
    if (!plan.ok() && !heard) continue;  // it needs more memory, and does not search
    if (!plan.ok()) {
      EXPECT_EQ(plan.error().code, in_time ? ErrorCode::kInterrupted : ErrorCode::kOutOfTime) << plan.error().message;
      EXPECT_THAT(plan.error().message, AllOf(HasSubstr("before it had a plan"), HasSubstr("--planning-time")));
      continue;
    }
    EXPECT_EQ(was_interrupted(*plan), heard);
    EXPECT_TRUE(plan::verify_plan(problem.graph, problem.machine, *plan).empty());
  }
}

TEST_P(LittleChoice, InterruptedWhereNothingFitsItStillSaysWhatWould) {
  const PlanningProblem problem(merged_model("resnet20", 4, 32), "file", 1e9);
  PlanRequest request = problem.request(0.02);
  request.watch = std::make_shared<const PlanningWatch>(PlanningWatch{.stop = [] { return true; }});
  expect_explained(GetParam().name, request);
  const auto advice = [&](const PlanRequest& asked) {
    return advised(GetParam().name, asked, make_plan(GetParam().name, asked).error()).message;
  };
  EXPECT_THAT(advice(request), HasSubstr("smallest budget it can use is"));
  EXPECT_EQ(advice(request), advice(problem.request(0.02)));
}

INSTANTIATE_TEST_SUITE_P(Planners, LittleChoice, ::testing::ValuesIn(kContestants), [](const auto& tested) {
  const std::string name = tested.param.name;
  std::string letters = name.substr(0, name.find(':'));
  std::erase(letters, '-');
  return letters;
});

}  // namespace
}  // namespace sluice::planners
