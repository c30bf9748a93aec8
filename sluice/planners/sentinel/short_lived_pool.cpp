#include "sluice/planners/sentinel/short_lived_pool.hpp"

#include <algorithm>

namespace sluice::planners {
namespace {

IdVector<graph::OpIndex, Bytes> short_lived_bytes(const std::vector<MovingUnit>& units, std::size_t op_count) {
  IdVector<graph::OpIndex, Bytes> bytes(op_count + 1, 0);
  for (const MovingUnit& unit : units) {
    if (!unit.short_lived) continue;
    bytes[unit.range.begin] += unit.kept_bytes;
    bytes[unit.range.end] -= unit.kept_bytes;
  }
  Bytes live = 0;
  for (Bytes& each : bytes) each = live += each;
  return bytes;
}

}  // namespace

void reserve_idle_pool(const std::vector<MovingUnit>& units, const IntervalCut& cut, ReservationTable& table) {
  const IdVector<graph::OpIndex, Bytes> taken = short_lived_bytes(units, cut.interval_of_op.size());
  for (const Interval<graph::OpIndex>& ops : cut.intervals) {
    Bytes space = 0;
    for (graph::OpIndex op = ops.end; op-- > ops.begin;) {
      space = std::max(space, taken[op]);
      table.reserve({op, op + 1}, space - taken[op]);
    }
  }
}

}  // namespace sluice::planners
