#include "sluice/report/sweep/sweep_charts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/report/charts/svg_for_tests.hpp"
#include "sluice/report/sweep/sweep_for_tests.hpp"

namespace sluice {
namespace {

using ::testing::AllOf;
using testing::bounded_net;
using ::testing::HasSubstr;
using testing::label_problem;
using testing::measured_net;
using ::testing::Not;
using testing::swept_net;
using testing::too_small;
using testing::without_loss;
using testing::xml_problem;

// Fast memory costs twice as much as slow memory, a fifth of the speed may be lost, and what is not in fast memory is in
// slow memory. A second planner cannot do with 20 %.
SweptModel priced(SweptModel swept) {
  swept.prices = MemoryPrices{2, 1};
  swept.allowed_loss = 0.2;
  for (SweepPoint& point : swept.points) {
    point.slow_bytes = swept.whole - point.budget;
    point.fast_operands = OperandShares{swept.share(point), 1.5 * swept.share(point)};
  }
  const std::vector<SweepPoint> points = swept.points;
  for (SweepPoint other : points) {
    if (other.budget <= 20 * kMiB) other = too_small(other.budget);
    other.planner = "joint";
    other.bytes_in = 40 * kMiB;
    swept.points.push_back(other);
  }
  return swept;
}

std::string sound(const std::string& svg) { return xml_problem(svg) + label_problem(svg); }

TEST(SweepChartsTest, DrawsACurveAModelAndPlanner) {
  const std::string svg = draw_sweep(std::vector{swept_net(), measured_net()}, true);
  EXPECT_THAT(svg, HasSubstr(">net b4, sentinel</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>net b4, sentinel, 20 %: 1.250x predicted</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>other b4, sentinel, 60 %: 1.050x measured</title>"));
  EXPECT_THAT(svg, HasSubstr("emulated"));
  EXPECT_THAT(svg, Not(HasSubstr("sentinel, 10 %"))) << "what is infeasible is no point";
}

TEST(SweepChartsTest, DrawsTheBoundAndMarksTheKnee) {
  const std::string svg = draw_sweep(std::vector{bounded_net()}, false);
  EXPECT_THAT(svg, HasSubstr("<title>net b4, sentinel, 30 %: 1.080x bound</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>net b4, sentinel, 40 %: 1.000x predicted, the knee</title>"));
  EXPECT_THAT(svg, HasSubstr(">predicted, bound (dotted); ring: the knee</text>"));
}

TEST(SweepChartsTest, DrawsBudgetsWithoutLossAsBars) {
  const std::string svg = draw_sweep(std::vector{without_loss("big", 60 * kMiB, 15 * kMiB)}, false);
  EXPECT_THAT(svg, HasSubstr("<title>big b8, everything: 60.0 MiB</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>big b8, sentinel: 15.0 MiB</title>"));
  EXPECT_THAT(svg, HasSubstr("at most 1.0 % longer"));
}

// At 30 %, fast memory costs 30 % and slow memory 35 % of everything: 1 / 1.1 / 0.65.
TEST(SweepChartsTest, DrawsWhatMemoryBringsForItsPrice) {
  const std::string svg = draw_sweep(std::vector{priced(swept_net()), priced(measured_net())}, true);
  EXPECT_EQ(sound(svg), "");
  EXPECT_THAT(svg, HasSubstr("<title>net b4, sentinel, 20 %: 1.33 per price, performance 80.0 % predicted, "
                             "price 60.0 %</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>net b4, sentinel, 30 %: 1.40 per price, performance 90.9 % predicted, "
                             "price 65.0 %, the cheapest</title>"));
  EXPECT_THAT(svg, HasSubstr("60 %: 1.19 per price, performance 95.2 % measured, price 80.0 %</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("joint, 20 %"))) << "what is infeasible is no point";
  EXPECT_THAT(svg, AllOf(HasSubstr(">above: slow memory is worth its price</text>"),
                         HasSubstr(">predicted, measured (dashed); ring: the cheapest at most 20 % slower</text>"),
                         HasSubstr(">predicted: simulated with measured op times; slow memory emulated</text>")));
}

TEST(SweepChartsTest, PricesThatNobodyKnowsAreNoPicture) {
  SweptModel swept = priced(swept_net());
  const std::string without = draw_sweep(std::vector{swept_net()}, false);
  EXPECT_THAT(without, Not(HasSubstr("price")));
  for (SweepPoint& point : swept.points) point.slow_bytes.reset();
  EXPECT_THAT(draw_sweep(std::vector{swept}, false), Not(HasSubstr("price"))) << "policies";
  swept = priced(swept_net());
  swept.prices = MemoryPrices{0, 0};
  const std::string of_nothing = draw_sweep(std::vector{swept}, false);
  EXPECT_THAT(of_nothing, AllOf(Not(HasSubstr("price")), Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
}

TEST(SweepChartsTest, OnePointIsAPicture) {
  SweptModel swept = priced(swept_net());
  swept.points = {swept.points[2]};
  for (const std::string& svg :
       {draw_sweep(std::vector{swept}, false), draw_sweep_traffic(std::vector{swept}, false)}) {
    EXPECT_EQ(sound(svg), "");
    EXPECT_THAT(svg, AllOf(HasSubstr("30 %: "), Not(HasSubstr("polyline"))));
  }
}

TEST(SweepChartsTest, DrawsWhereOperandsLieAndWhatIsMoved) {
  const std::string svg = draw_sweep_traffic(std::vector{priced(swept_net()), priced(measured_net())}, true);
  EXPECT_EQ(sound(svg), "");
  EXPECT_THAT(svg, HasSubstr("<title>net b4, sentinel, 40 %: 40.0 % in fast memory</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>other b4, joint, 60 %: 90.0 % in fast memory</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>net b4, sentinel, 20 %: 1.0 MiB moved a step</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>net b4, sentinel, 20 %: 2.0 MiB moved a step</title>"));
  EXPECT_THAT(svg, AllOf(HasSubstr(">moved into fast memory a step (MiB)</text>"),
                         HasSubstr(">moved out of fast memory a step (MiB)</text>"),
                         HasSubstr(">simulated with measured op times; slow memory emulated</text>")));
  EXPECT_THAT(svg, Not(HasSubstr("joint, 20 %"))) << "what is infeasible is no point";
}

TEST(SweepChartsTest, OfPoliciesOnlyMovesAreKnown) {
  const std::string svg = draw_sweep_traffic(std::vector{swept_net()}, false);
  EXPECT_THAT(svg, AllOf(HasSubstr("moved into"), Not(HasSubstr("inputs in fast memory"))));
  EXPECT_EQ(sound(svg), "");
}

TEST(SweepChartsTest, DrawsNothingOfNothing) {
  EXPECT_EQ(draw_sweep({}, false), "");
  EXPECT_EQ(draw_sweep_traffic({}, false), "");
  EXPECT_EQ(draw_sweep_traffic(std::vector{without_loss("big", 60 * kMiB, 15 * kMiB)}, false), "");
  SweptModel swept = swept_net();
  swept.points.resize(1);
  EXPECT_EQ(draw_sweep(std::vector{swept}, false), "");
  EXPECT_EQ(draw_sweep_traffic(std::vector{swept}, false), "");
}

}  // namespace
}  // namespace sluice
