#include "sluice/base/as_index.hpp"
#include "sluice/planners/redl/period_scheduler.hpp"

namespace sluice::planners {

// In the order in which the outward lanes will carry the copies, each until its copy should be done.
void PeriodScheduler::give_tails() {
  std::vector<Item> leaving;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const std::vector<bool> writes = states_[i].write_backs();
    for (std::size_t gap = 0; gap < writes.size(); ++gap) {
      if (writes[gap]) leaving.push_back({i, gap, true});
    }
  }
  const auto begin_of = [&](const Item& item) { return stretch(item.unit, item.index).ops.end; };
  std::ranges::stable_sort(leaving, {}, begin_of);
  std::map<memory::LinkId, Seconds> free_at;
  for (const Item& item : leaving) {
    const graph::OpIndex begin = begin_of(item);
    Seconds& lane_free = free_at[slow(item.unit).outward];
    lane_free = std::max(lane_free, start_of(begin)) + copy_out(item.unit);
    const auto done = std::lower_bound(start_.begin() + begin, start_.end() - 1, lane_free) - start_.begin();
    const graph::OpIndex limit = ranges_of_gap(states_[item.unit].unit(), item.index, op_count_).front().end;
    GapState& gap = states_[item.unit].gap(item.index);
    gap.tail_end = table_.fits_forward(begin, std::min(as_id<graph::OpIndex>(done), limit), bytes(item.unit));
    table_.reserve({begin, gap.tail_end}, bytes(item.unit));
  }
}

// From the start of the period before, but not before the unit has left.
graph::OpIndex PeriodScheduler::earliest_window(std::size_t unit, std::size_t index) const {
  const int period = period_of(stretch(unit, index).ops.begin);
  const graph::OpIndex previous = period == 0 ? 0 : cut_.intervals[period - 1].begin;
  return index == 0 ? previous : std::max(previous, states_[unit].gap(index - 1).tail_end);
}

void PeriodScheduler::migrate_periods() {
  IdVector<int, std::vector<Item>> requested(cut_.intervals.size());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].unit().may_leave) continue;
    for (std::size_t s = 0; s < states_[i].unit().stretches.size(); ++s) {
      requested[period_of(stretch(i, s).ops.begin)].push_back({i, s});
    }
  }
  for (std::vector<Item>& items : requested) {
    std::ranges::stable_sort(items, {}, [&](const Item& item) { return stretch(item.unit, item.index).ops.begin; });
    for (const Item& item : items) {
      if (states_[item.unit].is_brought(item.index)) bring(item.unit, item.index);
    }
    for (const Item& item : items) {
      if (!states_[item.unit].fast(item.index)) bring_for_spare(item.unit, item.index);
    }
  }
}

// The unit's copies come with the lane's other ones, in order. Late: used in place, if that is sooner than waiting.
void PeriodScheduler::bring(std::size_t unit, std::size_t index) {
  UnitState& state = states_[unit];
  const Stretch& uses = stretch(unit, index);
  const graph::OpIndex begin = table_.fits_backward(uses.ops.begin, earliest_window(unit, index), bytes(unit));
  Seconds& lane_free = free_at_[slow(unit).inward];
  const Seconds arrival = std::max(lane_free, start_of(begin)) + copy_in(unit);
  const bool wraps = index + 1 == state.unit().stretches.size() && index < state.unit().gap_count();
  const bool stays_till_next_step = wraps && state.gap(index).kept;
  const Seconds may_wait = has(RedlAddition::kPrices) ? uses.slow_seconds : 0;
  if (state.unit().in_place && !stays_till_next_step && arrival - start_of(uses.ops.begin) > may_wait) {
    use_in_place(unit, index);
    ++late_;
    return;
  }
  lane_free = arrival;
  state.gap(state.gap_before(index)).window_begin = begin;
  table_.reserve({begin, uses.ops.begin}, bytes(unit));
}

// Its room goes back, and what it would have left in the fast tier has to be brought when it is needed next.
void PeriodScheduler::use_in_place(std::size_t unit, std::size_t index) {
  UnitState& state = states_[unit];
  const Interval<graph::OpIndex> uses = stretch(unit, index).ops;
  state.set_fast(index, false);
  table_.reserve(uses, -bytes(unit));
  if (index >= state.unit().gap_count()) return;
  GapState& behind = state.gap(index);
  if (behind.kept) {
    for (const auto& range : ranges_of_gap(state.unit(), index, op_count_)) table_.reserve(range, -bytes(unit));
  } else {
    table_.reserve({uses.end, behind.tail_end}, -bytes(unit));
  }
  behind.kept = false;
  behind.tail_end = uses.end;
}

bool PeriodScheduler::is_worth_bringing(std::size_t unit, std::size_t index) const {
  const Seconds price = copy_in(unit) * problem_.costs.interference(slow(unit).inward);
  if (!has(RedlAddition::kPrices)) return !stretch(unit, index).writes;
  return !stretch(unit, index).writes && stretch(unit, index).slow_seconds > 2 * price;
}

// What is only read, while the lane has nothing else to do.
void PeriodScheduler::bring_for_spare(std::size_t unit, std::size_t index) {
  UnitState& state = states_[unit];
  const Stretch& uses = stretch(unit, index);
  const std::size_t before = state.gap_before(index);
  if (before >= state.unit().gap_count() || !is_worth_bringing(unit, index)) return;
  if (!table_.fits(uses.ops, bytes(unit))) return;
  const graph::OpIndex earliest = earliest_window(unit, index);
  const Seconds latest = start_of(uses.ops.begin) - copy_in(unit);
  Seconds& lane_free = free_at_[slow(unit).inward];
  if (std::max(lane_free, start_of(earliest)) > latest) return;
  const graph::OpIndex begin = table_.fits_backward(uses.ops.begin, earliest, bytes(unit));
  const Seconds arrival = std::max(lane_free, start_of(begin)) + copy_in(unit);
  if (arrival > start_of(uses.ops.begin)) return;
  lane_free = arrival;
  state.set_fast(index, true);
  state.gap(before).window_begin = begin;
  table_.reserve({begin, uses.ops.end}, bytes(unit));
}

bool PeriodScheduler::middle_fits(std::size_t unit, std::size_t gap,
                                  std::vector<Interval<graph::OpIndex>>& middle) const {
  const GapState& state = states_[unit].gap(gap);
  if (states_[unit].unit().wraps(gap)) {
    middle = {{state.tail_end, op_count_}, {0, state.window_begin}};
  } else {
    middle = {{state.tail_end, state.window_begin}};
  }
  return fits(middle, unit);
}

void PeriodScheduler::keep_what_still_fits() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    for (std::size_t gap = 0; gap < states_[i].unit().gap_count(); ++gap) {
      std::vector<Interval<graph::OpIndex>> middle;
      if (states_[i].gap(gap).kept || !states_[i].between_fast(gap) || !middle_fits(i, gap, middle)) continue;
      for (const auto& range : middle) table_.reserve(range, bytes(i));
      states_[i].gap(gap).kept = true;
    }
  }
}

}  // namespace sluice::planners
