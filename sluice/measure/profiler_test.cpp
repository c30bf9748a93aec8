#include "sluice/measure/profiler.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "sluice/testing/mixing_graph.hpp"

namespace sluice::measure {
namespace {

// Two ops of one signature and one of another.
graph::Graph three_small_ops() {
  graph::Graph graph;
  graph::Tensor tensor;
  tensor.shape = {1000};
  std::vector<graph::TensorId> tensors;
  for (int i = 0; i < 4; ++i) tensors.push_back(graph.add_tensor(tensor));
  for (std::size_t i = 0; i < 3; ++i) {
    graph::Op op;
    op.name = "op" + std::to_string(i);
    op.kind = i < 2 ? graph::OpKind::kRelu : graph::OpKind::kAdd;
    op.inputs = {tensors[i]};
    op.outputs = {tensors[i + 1]};
    graph.add_op(op);
  }
  return graph;
}

class ProfilerTest : public ::testing::Test {
 protected:
  ProfilerTest() { machine_.tiers.emplace_back(); }
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  profile::ProfileCache open_cache() const {
    return profile::ProfileCache::open(machine_.compute_fingerprint(), folder_);
  }

  memory::Machine machine_;
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("sluice_profiler_" + std::to_string(::getpid()) + "_" +
                                                ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ProfilerTest, MeasuresEveryOp) {
  testing::MixingGraph compiled(three_small_ops(), {.op_seconds = 2e-3, .failing_op = {}});
  profile::ProfileCache cache = open_cache();
  int last_done = 0;
  int last_total = 0;
  const auto show = [&](int done, int total) {
    last_done = done;
    last_total = total;
  };
  const auto profile = measure_profile(compiled, machine_, cache, {.on_progress = show, .cold = true});
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->graph_fingerprint, compiled.graph().fingerprint());
  EXPECT_EQ(profile->compute_fingerprint, machine_.compute_fingerprint());
  ASSERT_EQ(profile->op_seconds.size(), 3u);
  for (const Seconds seconds : profile->op_seconds) EXPECT_GE(seconds, 2e-3);
  EXPECT_EQ(profile->op_seconds[0], profile->op_seconds[1]) << "one signature, one time";
  EXPECT_GE(last_done, 10) << "samples";
  EXPECT_EQ(last_total, last_done);
  const auto measured = cache.find_op(graph::op_signature(compiled.graph(), compiled.graph().op(2)));
  for (const profile::Timing& timing : {measured->warm, measured->cold}) {
    EXPECT_GE(timing.samples, 5);
    EXPECT_LE(timing.min, timing.median);
    EXPECT_LE(timing.median, timing.max);
  }
  EXPECT_EQ(measured->warm.median, profile->op_seconds[2]);
  EXPECT_EQ(measured->cold.median, profile->cold_seconds[2]);
  EXPECT_EQ(profile->distinct_ops, 2);
  EXPECT_EQ(profile->measured_ops, 2);
}

// Whatever is done between the samples (caches made cold, the inputs filled) is not the op's time.
TEST_F(ProfilerTest, MeasuresNothingBesideTheOp) {
  constexpr Seconds kOp = 2e-3;
  Seconds longest = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {  // what else runs here only ever makes a sample longer
    testing::MixingGraph compiled(three_small_ops(), {.op_seconds = kOp, .failing_op = {}});
    profile::ProfileCache cache = open_cache();
    ASSERT_TRUE(measure_profile(compiled, machine_, cache, {.cold = true}).ok());
    const auto measured = cache.find_op(graph::op_signature(compiled.graph(), compiled.graph().op(2)));
    longest = std::max(measured->warm.min, measured->cold.min);
    if (longest < 2 * kOp) break;
    std::filesystem::remove_all(folder_);
  }
  EXPECT_LT(longest, 2 * kOp);
}

TEST_F(ProfilerTest, ASecondRunMeasuresNothing) {
  testing::MixingGraph compiled(three_small_ops());
  profile::ProfileCache first_cache = open_cache();
  const auto first = measure_profile(compiled, machine_, first_cache);
  ASSERT_TRUE(first.ok());
  const int ops_run = compiled.ops_run();
  profile::ProfileCache second_cache = open_cache();
  const auto second = measure_profile(compiled, machine_, second_cache);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(compiled.ops_run(), ops_run);
  EXPECT_EQ(second->op_seconds, first->op_seconds);
  EXPECT_EQ(second->cold_seconds, first->cold_seconds);
  EXPECT_EQ(second->distinct_ops, 2);
  EXPECT_EQ(second->measured_ops, 0);
}

TEST_F(ProfilerTest, KnownTimesAreReplacedWhenAsked) {
  testing::MixingGraph compiled(three_small_ops());
  profile::ProfileCache cache = open_cache();
  ASSERT_TRUE(measure_profile(compiled, machine_, cache).ok());
  testing::MixingGraph slower(three_small_ops(), {.op_seconds = 2e-3, .failing_op = {}});
  const auto again = measure_profile(slower, machine_, cache, {.known = KnownTimes::kReplace});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->measured_ops, 2);
  for (const Seconds seconds : again->op_seconds) EXPECT_GE(seconds, 2e-3);
  profile::ProfileCache kept = open_cache();
  EXPECT_GE(kept.find_op(graph::op_signature(slower.graph(), slower.graph().op(2)))->warm.median, 2e-3);
}

// Without a limit nothing is run to tell others from. A batch is three passes over both signatures, of which one has two
// ops, and two more over the other, each behind two ops.
TEST_F(ProfilerTest, ANoisyMomentIsMeasuredThreeTimesAndNoMore) {
  testing::MixingGraph compiled(three_small_ops(), {.op_seconds = 1e-3, .failing_op = {}, .uneven = true});
  profile::ProfileCache cache = open_cache();
  ASSERT_TRUE(measure_profile(compiled, machine_, cache, {.most_seconds = kWithoutLimit}).ok());
  const int pass = 3;
  const int batch = 3 * pass + 2 * (2 + 1);
  EXPECT_EQ(compiled.ops_run(), pass + 3 * batch);
}

TEST_F(ProfilerTest, ColdTimesAreMeasuredWhereTheyAreWanted) {
  testing::MixingGraph compiled(three_small_ops());
  profile::ProfileCache cache = open_cache();
  EXPECT_TRUE(measure_profile(compiled, machine_, cache)->cold_seconds.empty());
  const profile::Profile cold = measure_profile(compiled, machine_, cache, {.cold = true}).value();
  EXPECT_EQ(cold.cold_seconds.size(), 3U);
  EXPECT_EQ(cold.measured_ops, 2) << "again, with cold times";
  EXPECT_EQ(measure_profile(compiled, machine_, cache, {.cold = true})->measured_ops, 0);
}

// A thousand relus of growing size: one is run, and the others are told from it.
TEST_F(ProfilerTest, WhatThereIsNoTimeForIsToldFromOthersOfItsKind) {
  graph::Graph graph;
  for (std::int64_t i = 1; i <= 1000; ++i) {
    graph::Tensor tensor;
    tensor.shape = {1000 * i};
    graph::Op op;
    op.name = "relu" + std::to_string(i);
    op.kind = graph::OpKind::kRelu;
    op.inputs = {graph.add_tensor(tensor)};
    op.outputs = {graph.add_tensor(tensor)};
    graph.add_op(op);
  }
  testing::MixingGraph compiled(graph, {.op_seconds = 0.02, .failing_op = {}});
  profile::ProfileCache cache = open_cache();
  const profile::Profile profile = measure_profile(compiled, machine_, cache, {.most_seconds = 0.1}).value();
  EXPECT_LT(compiled.ops_run(), 20);
  EXPECT_GE(profile.measured_ops, 1);
  EXPECT_GE(profile.estimated_ops, 990);
  EXPECT_GE(profile.op_seconds[999], 0.02);
  EXPECT_NEAR(profile.op_seconds[499], profile.op_seconds[999] / 2, 0.1 * profile.op_seconds[999]);
}

// Ninety small ops beside one that takes nearly all of the step.
TEST_F(ProfilerTest, TheSmallestAreNotMeasuredWhereTimeIsShort) {
  graph::Graph graph;
  for (std::int64_t i = 1; i <= 90; ++i) {
    graph::Tensor tensor;
    tensor.shape = {i == 1 ? 500'000 : i};
    graph::Op op;
    op.kind = graph::OpKind::kRelu;
    op.inputs = {graph.add_tensor(tensor)};
    op.outputs = {graph.add_tensor(tensor)};
    graph.add_op(op);
  }
  testing::MixingGraph compiled(graph);
  profile::ProfileCache cache = open_cache();
  const profile::Profile profile = measure_profile(compiled, machine_, cache).value();
  EXPECT_EQ(profile.measured_ops, 1);
  EXPECT_EQ(profile.estimated_ops, 89);
  EXPECT_LT(profile.estimated_share, kSmallShare);
  const int ops_run = compiled.ops_run();
  EXPECT_EQ(measure_profile(compiled, machine_, cache)->measured_ops, 0);
  EXPECT_EQ(compiled.ops_run(), ops_run) << "nor by the next run";
}

TEST_F(ProfilerTest, NamesTheOpThatFails) {
  testing::MixingGraph compiled(three_small_ops(), {.op_seconds = 0, .failing_op = 2});
  profile::ProfileCache cache = open_cache();
  const auto profile = measure_profile(compiled, machine_, cache);
  ASSERT_FALSE(profile.ok());
  EXPECT_NE(profile.error().message.find("op2"), std::string::npos);
}

}  // namespace
}  // namespace sluice::measure
