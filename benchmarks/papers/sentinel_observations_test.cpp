#include "benchmarks/papers/sentinel_observations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/testing/drawn_step.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using Step = testing::DrawnStep;

Characterization observe(const Step& step) { return characterize(step.graph, step.liveness, &step.accesses); }

TEST(PublishedFiguresTest, ArePublishedValuesBesideOurs) {
  const Step step;
  const std::vector<ComparedFigure> figures = compare_with_published(observe(step));
  ASSERT_GE(figures.size(), 3U);
  EXPECT_EQ(figures[0].published.value, 92);
  EXPECT_NEAR(figures[0].here.value_or(0), 100 * 2.0 / 7, 1e-9);
  EXPECT_NEAR(figures[1].here.value_or(0), 50, 1e-9);
  EXPECT_EQ(figures[2].published.value, 52.3);
  EXPECT_NEAR(figures[2].here.value_or(0), 100 * 4.0 / 7, 1e-9);
  EXPECT_THAT(describe_published(figures),
              HasSubstr("tensors that are short-lived      92.0 %  28.6 %  observation 1"));
}

TEST(PublishedFiguresTest, SayWhatWasNotMeasured) {
  const Step step;
  const std::vector<ComparedFigure> figures = compare_with_published(characterize(step.graph, step.liveness, nullptr));
  EXPECT_FALSE(figures[2].here.has_value());
  EXPECT_THAT(describe_published(figures), HasSubstr("not measured"));
  EXPECT_TRUE(published_json(figures)[2]["here"].is_null());
}

TEST(PublishedFiguresTest, DifferencesNameAnotherBatch) {
  const Step step;
  const auto reasons = [&](std::int64_t batch) {
    return explain_differences(step.graph, step.liveness, observe(step), batch);
  };
  EXPECT_THAT(reasons(2), Contains(HasSubstr("batch 2, the paper's is 128")));
  EXPECT_THAT(reasons(128), Not(Contains(HasSubstr("the paper's is 128"))));
}

}  // namespace
}  // namespace sluice
