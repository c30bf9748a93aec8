// Which ops a step leaves out that has room to keep what they would make again.
#include "sluice/planners/schedule/keep_what_fits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/graph/value_numbers.hpp"
#include "sluice/plan/verify/same_values.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::planners {
namespace {

class KeepWhatFits : public ::testing::Test {
 protected:
  Bytes bytes_of(const std::vector<graph::OpIndex>& schedule) const {
    if (schedule.empty()) return whole_;
    return fast_only_bytes(graph::reschedule(graph_, schedule).value().graph);
  }

  Seconds seconds_of(const std::vector<graph::OpIndex>& schedule) const {
    const auto add = [&](Seconds sum, graph::OpIndex op) { return sum + profile_.op_seconds.at(as_index(op)); };
    return std::accumulate(schedule.begin(), schedule.end(), Seconds{0}, add);
  }

  PlanningProblem problem_{merged_model("mobilenet_v2", 2, 64), "file", 2e9};
  const graph::Graph& graph_ = problem_.graph;
  const profile::Profile& profile_ = problem_.profile;
  const Bytes whole_ = fast_only_bytes(graph_);
};

TEST_F(KeepWhatFits, NothingIsLeftOutWhereMemoryIsShort) {
  EXPECT_TRUE(keep_what_fits(graph_, profile_, whole_ / 2).empty());
  EXPECT_TRUE(keep_what_fits(graph_, profile_, whole_ - memory::kBlockAlignment).empty());
}

TEST_F(KeepWhatFits, WithAllMemoryNothingIsMadeAgain) {
  const std::vector<graph::OpIndex> schedule = keep_what_fits(graph_, profile_, 100 * whole_);
  const std::vector<graph::Repetition> needless = graph::repetitions(graph_);
  ASSERT_GT(needless.size(), 20U);
  EXPECT_EQ(schedule.size() + needless.size(), graph_.ops().size());
  EXPECT_TRUE(std::ranges::none_of(
      needless, [&](const graph::Repetition& each) { return std::ranges::binary_search(schedule, each.op); }));
  EXPECT_GT(bytes_of(schedule), whole_);
}

TEST_F(KeepWhatFits, WhatRunsOtherwiseTheSecondTimeIsNotLeftOut) {
  std::vector<graph::OpChoice> choices(graph_.ops().size());
  const graph::Repetition one = graph::repetitions(graph_).front();
  choices[as_index(one.op)].processor = 1;
  EXPECT_TRUE(std::ranges::binary_search(keep_what_fits(graph_, profile_, 100 * whole_, choices), one.op));
  choices[as_index(one.of)].processor = 1;
  EXPECT_FALSE(std::ranges::binary_search(keep_what_fits(graph_, profile_, 100 * whole_, choices), one.op));
}

// The workspace of a chosen kernel takes room beside what is kept.
TEST_F(KeepWhatFits, CountsWhatTheChosenKernelsNeed) {
  graph::Graph graph = graph_;
  const auto conv = std::ranges::find(graph.ops(), graph::OpKind::kConv2d, &graph::Op::kind);
  ASSERT_NE(conv, graph.ops().end());
  const auto index = as_id<graph::OpIndex>(conv - graph.ops().begin());
  graph.op(index).outputs.push_back(graph.add_tensor(
      {.name = "workspace", .shape = {64}, .dtype = graph::DType::kU8, .role = graph::Role::kWorkspace, .bytes = 64}));
  graph.op(index).implementations = {{"small", 0}, {"large", 100 * whole_}};
  const Bytes enough = bytes_of(keep_what_fits(graph_, profile_, 100 * whole_)) + kMiB;
  EXPECT_FALSE(keep_what_fits(graph, profile_, enough).empty());
  std::vector<graph::OpChoice> choices(graph.ops().size());
  choices[as_index(index)].implementation = 1;
  EXPECT_TRUE(keep_what_fits(graph, profile_, enough, choices).empty()) << "not even everything else fits";
}

TEST_F(KeepWhatFits, MoreMemoryTakesLessTimeAndEveryScheduleFitsAndIsRight) {
  const Bytes all = bytes_of(keep_what_fits(graph_, profile_, 100 * whole_));
  Seconds before = seconds_of(keep_what_fits(graph_, profile_, 100 * whole_));
  for (int tenth = 9; tenth > 0; --tenth) {
    SCOPED_TRACE(tenth);
    const Bytes fast = whole_ + (all - whole_) * tenth / 10;
    const std::vector<graph::OpIndex> schedule = keep_what_fits(graph_, profile_, fast);
    ASSERT_FALSE(schedule.empty());
    EXPECT_LE(bytes_of(schedule), fast);
    EXPECT_GE(seconds_of(schedule), before);
    EXPECT_TRUE(plan::check_same_values(graph_, graph::reschedule(graph_, schedule).value(), 1).empty());
    before = seconds_of(schedule);
  }
}

}  // namespace
}  // namespace sluice::planners
