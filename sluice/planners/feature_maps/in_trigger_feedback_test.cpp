// Capuchin's corrections: what is moved, by how much, when they end, and what they gain.
#include "sluice/planners/feature_maps/in_trigger_feedback.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/schedule/step_for_tests.hpp"

namespace sluice::planners {
namespace {

constexpr Seconds kOpTime = 1e-3;  // of each op; a map of 1 MiB takes 1.05 ms each way

// One map, unused from op 1 to op 8, an op a layer. Its copy back takes a bit longer than the layer before its reader.
struct OneSwap {
  OneSwap() : graph(testing::step_of_uses({"wr.......r", "..wrwrwrwr"}, kMiB)) {
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op)
      graph.op(op).phase = op < 5 ? graph::Phase::kForward : graph::Phase::kBackward;
    profile.op_seconds.assign(graph.ops().size(), kOpTime);
    decided.maps = find_feature_maps(graph, graph::analyze_liveness(graph));
    for (const FeatureMap& map : decided.maps) {
      decided.actions.push_back(map.tensor == 0 ? FeatureMapAction::kSwap : FeatureMapAction::kKeep);
    }
  }

  PlanRequest request() const { return {graph, profile, machine, {kGiB, kGiB}}; }
  InTriggerFeedback feedback(int most_steps) const {
    const std::vector<Seconds> fetch_seconds(decided.maps.size(), kCopyTime);
    return {request(), decided, fetch_seconds, plan_actions(request(), decided).value(), most_steps};
  }

  static constexpr Seconds kCopyTime = static_cast<Seconds>(kMiB) / 1e9;
  graph::Graph graph;
  profile::Profile profile;
  memory::Machine machine = testing::machine_with(memory::TierKind::kFile, false);
  FeatureMapPlan decided{.planner = "test"};
};

const plan::Migration& fetch_of(const plan::Plan& plan) {
  const auto found = std::ranges::find_if(plan.migrations, [&](const plan::Migration& each) {
    return plan.residencies[each.to].tier == memory::kFastTier;
  });
  EXPECT_NE(found, plan.migrations.end());
  return *found;
}

StepObservation waited(const PlanRequest& request, graph::OpIndex op, Seconds seconds) {
  StepObservation step{.seconds = seconds, .stalls = std::vector<Seconds>(request.graph.ops().size(), 0)};
  step.stalls[as_index(op)] = 1e-4;
  return step;
}

TEST(InTriggerFeedbackTest, FetchesEarlierWhatAnOpWaitedFor) {
  const OneSwap step;
  InTriggerFeedback feedback = step.feedback(10);
  EXPECT_EQ(fetch_of(feedback.plan()).issue_after, 7) << "from the layer before its reader's on, op 8";
  feedback.observe(waited(step.request(), 9, 12e-3));
  ASSERT_FALSE(feedback.done());
  EXPECT_EQ(fetch_of(feedback.plan()).issue_after, 6) << "5 % of the copy is within op 7";
  feedback.observe(waited(step.request(), 9, 11e-3));
  ASSERT_FALSE(feedback.done());
  EXPECT_EQ(fetch_of(feedback.plan()).issue_after, 5)
      << "as often as it takes to reach another op: 20 times 5 % of 1.05 ms";
  EXPECT_EQ(feedback.report().occasions, 2);
}

TEST(InTriggerFeedbackTest, LeavesAloneWhatComesInTimeAndEndsThen) {
  const OneSwap step;
  InTriggerFeedback feedback = step.feedback(10);
  feedback.observe(waited(step.request(), 4, 12e-3));  // which nothing is fetched for
  EXPECT_TRUE(feedback.done());
  EXPECT_EQ(fetch_of(feedback.plan()).issue_after, 7);
}

TEST(InTriggerFeedbackTest, KeepsTheFastestPlanAndEndsWhenNothingGetsFaster) {
  const OneSwap step;
  InTriggerFeedback feedback = step.feedback(1000);
  feedback.observe(waited(step.request(), 9, 12e-3));
  feedback.observe(waited(step.request(), 9, 10e-3));
  int steps = 2;
  for (; !feedback.done(); ++steps) feedback.observe(waited(step.request(), 9, 11e-3));
  EXPECT_LT(steps, 12);
  EXPECT_EQ(fetch_of(feedback.plan()).issue_after, 6) << "the second one observed";
}

TEST(InTriggerFeedbackTest, ObservesNoMoreStepsThanItIsTold) {
  const OneSwap step;
  EXPECT_TRUE(step.feedback(0).done());
  InTriggerFeedback feedback = step.feedback(1);
  feedback.observe(waited(step.request(), 9, 12e-3));
  EXPECT_TRUE(feedback.done());
}

TEST(Capuchin, CorrectionsMakeStepsFasterAndNeverSlower) {
  int faster = 0;
  const std::vector<std::pair<const char*, BytesPerSecond>> steps{
      {"resnet20", 1e9}, {"resnet20", 2e9}, {"inception_v3", 2e9}, {"resnet50", 1e9}, {"resnet50", 2e9}};
  for (const auto& [model, link] : steps) {
    const PlanningProblem problem(merged_model(model, 2, model == std::string("resnet20") ? 32 : 96), "file", link);
    for (const double share : {0.75, 0.9}) {
      SCOPED_TRACE(std::string(model) + ", " + std::to_string(share) + ", " + std::to_string(link));
      const Result<plan::Plan> plan = make_plan("capuchin", problem.request(share));
      const Result<plan::Plan> without = make_plan("capuchin:corrections=0", problem.request(share));
      ASSERT_EQ(plan.ok(), without.ok());
      if (!plan.ok()) continue;
      EXPECT_LE(plan->predicted_step_seconds, without->predicted_step_seconds);
      faster += plan->predicted_step_seconds < 0.999 * without->predicted_step_seconds ? 1 : 0;
    }
  }
  EXPECT_GE(faster, 2) << "or this shows nothing";
}

TEST(Capuchin, ItsSearchProposesPlansForTheGivenGraph) {
  const PlanningProblem problem(merged_model("resnet50", 2, 96), "file", 2e9);
  const PlanRequest request = problem.request(0.9);
  const auto search = make_search("capuchin", request);
  ASSERT_TRUE(search.ok()) << search.error().message;
  ASSERT_NE(*search, nullptr);
  const Seconds first = simulated_seconds(request, (*search)->plan());
  EXPECT_LE(simulated_seconds(request, settle_in_simulation(**search, request)), first);
  EXPECT_GT((*search)->report().steps, 0);
  EXPECT_THAT((*search)->report().summary, ::testing::HasSubstr("in-triggers were moved"));
}

}  // namespace
}  // namespace sluice::planners
