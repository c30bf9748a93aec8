#include "sluice/planners/joint/gap_order.hpp"

#include <algorithm>
#include <limits>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

GapOrder ascending(const std::vector<double>& key, double most) {
  GapOrder order;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] <= most) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return key[i]; });
  return order;
}

// A parameter that was only read so far leaves without a copy.
bool leaves_for_nothing(const Gap& gap, std::span<const MovingUnit> units) {
  return units[gap.unit].persistent && !gap.wraps();
}

double rent_of(const plan::Payments& payments, const Gap& gap, graph::OpIndex op_count) {
  if (!gap.wraps()) return payments.stays(gap.previous_use, gap.next_use);
  return payments.stays(gap.previous_use, op_count) + payments.stays(plan::kBeforeFirst, gap.next_use);
}

// `share`: of the gap's bytes, what the link moves.
double move_of(const plan::Payments& payments, const Gap& gap, graph::OpIndex op_count, double share,
               bool for_nothing) {
  const graph::OpIndex gone = gap.wraps() ? op_count : gap.next_use;
  const graph::OpIndex back_from = gap.wraps() ? plan::kBeforeFirst : gap.previous_use;
  return (for_nothing ? 0 : payments.leaves(gap.previous_use, gone, share)) +
         payments.comes(back_from, gap.next_use, share);
}

}  // namespace

GapOrder order_by_price(std::span<const Gap> gaps, std::span<const MovingUnit> units, const profile::CostModel& costs,
                        const plan::Payments& payments, graph::OpIndex op_count, double most) {
  std::vector<double> rent_for_move;
  for (const Gap& gap : gaps) {
    const double rent = rent_of(payments, gap, op_count);
    const profile::Load load = units[gap.unit].load();
    const double share = static_cast<double>(costs.moved_bytes(load)) / static_cast<double>(load.bytes);
    const double move = move_of(payments, gap, op_count, share, leaves_for_nothing(gap, units));
    rent_for_move.push_back(rent > 0 ? rent / move : 0);
  }
  return ascending(rent_for_move, most);
}

GapOrder order_by_length(std::span<const Gap> gaps, std::span<const MovingUnit> units, const profile::CostModel& costs,
                         graph::OpIndex op_count) {
  std::vector<Seconds> begin{0};
  for (graph::OpIndex op = 0; op < op_count; ++op) begin.push_back(begin.back() + costs.op_seconds(op));
  std::vector<double> length;
  for (const Gap& gap : gaps) {
    Seconds seconds = 0;
    for (const Interval<graph::OpIndex>& range : gap_ranges(gap, op_count)) {
      seconds += begin[as_index(range.end)] - begin[as_index(range.begin)];
    }
    length.push_back(leaves_for_nothing(gap, units) ? seconds : seconds / 2);
  }
  return ascending(length, std::numeric_limits<double>::infinity());
}

}  // namespace sluice::planners
