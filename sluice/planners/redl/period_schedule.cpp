#include <algorithm>
#include <tuple>

#include "sluice/base/id_vector.hpp"
#include "sluice/planners/redl/period_scheduler.hpp"

namespace sluice::planners {

bool PeriodScheduler::everything_fits() const {
  ReservationTable all(op_count_, table_.capacity());
  for (const MovingUnit& unit : problem_.units) all.reserve(unit.range, unit.kept_bytes);
  return all.fits({0, op_count_}, 0);
}

void PeriodScheduler::keep_everything() {
  for (UnitState& state : states_) {
    for (std::size_t s = 0; s < state.unit().stretches.size(); ++s) state.set_fast(s, true);
    for (std::size_t gap = 0; gap < state.unit().gap_count(); ++gap) state.gap(gap).kept = true;
  }
}

bool PeriodScheduler::reserve_what_must_be_fast() {
  for (const UnitState& state : states_) {
    if (state.unit().in_place) continue;
    for (const Stretch& each : state.unit().stretches) table_.reserve(each.ops, state.unit().bytes);
  }
  return table_.fits({0, op_count_}, 0);
}

bool PeriodScheduler::fits(const std::vector<Interval<graph::OpIndex>>& ranges, std::size_t unit) const {
  return std::ranges::all_of(ranges, [&](const auto& range) { return table_.fits(range, bytes(unit)); });
}

// Longer lives first: what is left without room are those of least liveness.
void PeriodScheduler::place_short_lived() {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (problem_.units[i].short_lived && states_[i].unit().in_place) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return problem_.units[a].range.length() > problem_.units[b].range.length();
  });
  for (const std::size_t i : order) {
    if (placement_.units[i].fast.front()) take({.unit = i, .index = 0});
  }
}

std::vector<PeriodScheduler::Item> PeriodScheduler::long_lived_items() const {
  std::vector<Item> items;
  const auto add = [&](Item item, const std::vector<Interval<graph::OpIndex>>& ranges, Seconds saved) {
    Seconds held = 1e-12;
    for (const auto& range : ranges) held += problem_.seconds_in(range);
    item.density = saved / (held * static_cast<double>(std::max<Bytes>(1, bytes(item.unit))));
    items.push_back(item);
  };
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const StretchedUnit& unit = states_[i].unit();
    if (problem_.units[i].short_lived && unit.in_place) continue;
    for (std::size_t s = 0; unit.in_place && s < unit.stretches.size(); ++s) {
      if (placement_.units[i].fast[s]) add({i, s, false}, {unit.stretches[s].ops}, unit.stretches[s].slow_seconds);
    }
    for (std::size_t gap = 0; gap < unit.gap_count(); ++gap) {
      if (!placement_.units[i].kept[gap]) continue;
      add({i, gap, true}, ranges_of_gap(unit, gap, op_count_), copy_in(i) + copy_out(i));
    }
  }
  return items;
}

// Stretches before gaps, each by what it saves for the bytes and the time that it holds.
void PeriodScheduler::place_long_lived() {
  std::vector<Item> items = long_lived_items();
  std::ranges::stable_sort(items, [](const Item& a, const Item& b) {
    return std::tie(a.is_gap, b.density) < std::tie(b.is_gap, a.density);
  });
  for (const Item& item : items) take(item);
}

void PeriodScheduler::take(const Item& item) {
  UnitState& state = states_[item.unit];
  if (item.is_gap && !state.between_fast(item.index)) return;
  const auto ranges = item.is_gap ? ranges_of_gap(state.unit(), item.index, op_count_)
                                  : std::vector<Interval<graph::OpIndex>>{stretch(item.unit, item.index).ops};
  if (!fits(ranges, item.unit)) return;
  for (const auto& range : ranges) table_.reserve(range, bytes(item.unit));
  if (item.is_gap) {
    state.gap(item.index).kept = true;
  } else {
    state.set_fast(item.index, true);
  }
}

// When each op begins if nothing more is brought: what lies in the slow tier is used there and makes its op longer.
void PeriodScheduler::forecast() {
  IdVector<graph::OpIndex, std::vector<std::size_t>> slow(op_count_);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].unit().in_place) continue;
    std::size_t s = 0;
    for (const graph::Use& use : problem_.units[i].uses) {
      while (use.op >= stretch(i, s).ops.end) ++s;
      if (!states_[i].fast(s)) slow[use.op].push_back(i);
    }
  }
  start_ = {0.0};
  for (graph::OpIndex op = 0; op < op_count_; ++op) {
    const auto& units = slow[op];
    const Seconds lost = units.empty() ? 0 : seconds_lost(problem_, op, units);
    start_.push_back(start_.back() + problem_.costs.op_seconds(op) + lost);
  }
}

PeriodSchedule PeriodScheduler::result() && {
  PeriodSchedule result{.units = {}, .late_in_place = late_};
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const UnitState& state = states_[i];
    result.units.push_back(state.schedule(problem_.units[i].range, op_count_));
    for (std::size_t s = 0; s < state.unit().stretches.size(); ++s) {
      result.brought += state.is_brought(s) ? 1 : 0;
      result.placed_in_place += state.fast(s) ? 0 : 1;
    }
  }
  result.placed_in_place -= late_;
  return result;
}

std::optional<PeriodSchedule> schedule_periods(const RedlProblem& problem, const std::vector<StretchedUnit>& units,
                                               const Placement& placement, int length, Bytes capacity) {
  PeriodScheduler scheduler(problem, units, placement, length, capacity);
  if (scheduler.everything_fits()) {
    scheduler.keep_everything();
    return std::move(scheduler).result();
  }
  // The order is Dynamic Migration's: short-lived first, then long-lived while there is room, then what periods bring.
  if (!scheduler.reserve_what_must_be_fast()) return std::nullopt;
  scheduler.place_short_lived();
  scheduler.place_long_lived();
  scheduler.forecast();
  scheduler.give_tails();
  scheduler.migrate_periods();
  scheduler.keep_what_still_fits();
  return std::move(scheduler).result();
}

}  // namespace sluice::planners
