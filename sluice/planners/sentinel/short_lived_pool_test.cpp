#include "sluice/planners/sentinel/short_lived_pool.hpp"

#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

MovingUnit short_lived_unit(Interval<graph::OpIndex> range, Bytes bytes) {
  return {.tensors = {0}, .range = range, .short_lived = true, .kept_bytes = bytes};
}

IntervalCut pool_cut(const std::vector<Interval<graph::OpIndex>>& intervals) {
  IntervalCut cut{.length = 1, .intervals = intervals, .interval_of_op = {}};
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    for (graph::OpIndex op = intervals[i].begin; op < intervals[i].end; ++op)
      cut.interval_of_op.push_back(static_cast<int>(i));
  }
  return cut;
}

std::vector<Bytes> reserved_idle(const std::vector<MovingUnit>& units, const IntervalCut& cut) {
  const auto op_count = as_id<graph::OpIndex>(cut.interval_of_op.size());
  ReservationTable table(op_count, 100);
  reserve_idle_pool(units, cut, table);
  std::vector<Bytes> reserved;
  for (graph::OpIndex op = 0; op < op_count; ++op) reserved.push_back(table.used(op));
  return reserved;
}

// The drawing in the header: 1, 4, 2, 3 and 0 bytes are taken.
const std::vector<MovingUnit> kDrawn{short_lived_unit({0, 2}, 1), short_lived_unit({1, 3}, 2),
                                     short_lived_unit({1, 2}, 1), short_lived_unit({3, 4}, 3)};

TEST(ShortLivedPool, IsReservedFromTheIntervalsBeginAndShrinks) {
  EXPECT_EQ(reserved_idle(kDrawn, pool_cut({{0, 5}})), (std::vector<Bytes>{3, 0, 1, 0, 0}));
}

TEST(ShortLivedPool, EndsWithItsInterval) {
  EXPECT_EQ(reserved_idle(kDrawn, pool_cut({{0, 2}, {2, 5}})), (std::vector<Bytes>{3, 0, 1, 0, 0}));
  EXPECT_EQ(reserved_idle(kDrawn, pool_cut({{0, 1}, {1, 3}, {3, 5}})), (std::vector<Bytes>{0, 0, 0, 0, 0}));
}

TEST(ShortLivedPool, HasNothingToDoWithOtherTensors) {
  std::vector<MovingUnit> others = kDrawn;
  for (MovingUnit& unit : others) unit.short_lived = false;
  EXPECT_EQ(reserved_idle(others, pool_cut({{0, 5}})), (std::vector<Bytes>{0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace sluice::planners
