#include "sluice/experiment/batch_times.hpp"

#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/models/model.hpp"

namespace sluice::experiment {
namespace {

constexpr Seconds kStartSeconds = 1e-4;
constexpr Seconds kSampleSeconds = 2e-5;

// Every op takes what starting it takes, and a time for each sample.
profile::Profile linear_profile(const graph::Graph& graph, std::int64_t batch) {
  profile::Profile profile;
  profile.op_seconds.assign(as_index(graph.op_count()), kStartSeconds + static_cast<double>(batch) * kSampleSeconds);
  return profile;
}

graph::Graph step_of(std::int64_t batch) { return models::build_training_model("resnet20", {.batch = batch}).value(); }

TEST(BatchTimes, OfStraightLinesAreExactAtAnySize) {
  const graph::Graph two = step_of(2), four = step_of(4), eight = step_of(8), thirty_two = step_of(32);
  const profile::Profile of_two = linear_profile(two, 2), of_four = linear_profile(four, 4),
                         of_eight = linear_profile(eight, 8);
  const BatchTimes times({{2, two, of_two}, {4, four, of_four}, {8, eight, of_eight}});
  EXPECT_NEAR(times.error(), 0, 1e-9);
  const profile::Profile scaled = times.at(thirty_two, 32, {});
  Seconds sum = 0;
  for (const Seconds seconds : scaled.op_seconds) sum += seconds;
  ASSERT_EQ(scaled.op_seconds.size(), as_index(thirty_two.op_count()));
  const Seconds expected = static_cast<double>(eight.op_count()) * (kStartSeconds + 32 * kSampleSeconds);
  EXPECT_NEAR(sum, expected, 0.01 * expected) << "a larger batch may be cut into more ops, with the same work";
}

TEST(BatchTimes, SayHowFarTheLargestIsFromWhatTheOthersPromise) {
  const graph::Graph two = step_of(2), four = step_of(4), eight = step_of(8);
  const profile::Profile of_two = linear_profile(two, 2), of_four = linear_profile(four, 4);
  profile::Profile slower = linear_profile(eight, 8);
  for (Seconds& seconds : slower.op_seconds) seconds *= 1.25;
  const BatchTimes times({{2, two, of_two}, {4, four, of_four}, {8, eight, slower}});
  EXPECT_NEAR(times.error(), 1 / 1.25 - 1, 1e-9);
}

}  // namespace
}  // namespace sluice::experiment
