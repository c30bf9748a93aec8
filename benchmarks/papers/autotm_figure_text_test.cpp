#include "benchmarks/papers/autotm_figure_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::autotm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FiguredModel covered() {
  FiguredModel model{.ratios = {{8, 1}}, .only_pmm = 4.5};
  model.swept = {.model = "made", .whole = 90 * kMiB, .baseline_seconds = 0.1};
  model.coverage[OpKind::kRelu] = {.ops = 3, .unmatched_ops = 1, .seconds = 0.03, .scaled_seconds = 0.01};
  model.coverage[OpKind::kAdd] = {.ops = 1, .unmatched_ops = 1, .seconds = 0.07, .guessed_seconds = 0.07};
  return model;
}

TEST(AutotmFigureText, SaysWhatIsUnmatchedByOpsAndByTime) {
  const std::string text = describe_coverage(covered());
  EXPECT_THAT(text, HasSubstr("unmatched: 2 of 4 ops (50.0%), 80.0% of the time"));
  EXPECT_THAT(text, HasSubstr("none of its 1 ops add has a kernel"));
  EXPECT_THAT(text, Not(HasSubstr("ops relu has a kernel")));
  const nlohmann::json document = figures_json(std::vector{covered()});
  EXPECT_EQ(document["models"][0]["unmatched"]["share_of_ops"], 0.5);
  EXPECT_NEAR(document["models"][0]["unmatched"]["share_of_time"].get<double>(), 0.8, 1e-12);
  EXPECT_EQ(document["models"][0]["kinds"]["relu"]["ops"], 1);
}

TEST(AutotmFigureText, ShowsSlowdownsByRatioAndWhySomeAreMissing) {
  FiguredModel model = covered();
  model.swept.points = {{.planner = "autotm-sync", .slowdown = 1.25},
                        {.planner = "joint", .failure = "joint needs more"}};
  const std::string text = describe_slowdowns(model);
  EXPECT_THAT(text, HasSubstr("4.500x"));
  EXPECT_THAT(text, HasSubstr("8:1       11.1%   10       1.250x  infeasible"));
  EXPECT_THAT(text, HasSubstr("- joint needs more\n"));
}

}  // namespace
}  // namespace sluice::autotm
