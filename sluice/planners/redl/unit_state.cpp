#include "sluice/planners/redl/unit_state.hpp"

#include <optional>

namespace sluice::planners {

UnitState::UnitState(const StretchedUnit& unit) : unit_(&unit), fast_(unit.stretches.size(), !unit.in_place) {
  for (std::size_t gap = 0; gap < unit.gap_count(); ++gap) {
    gaps_.push_back({.kept = false,
                     .tail_end = unit.stretches[gap].ops.end,
                     .window_begin = unit.stretches[unit.wraps(gap) ? 0 : gap + 1].ops.begin});
  }
}

std::size_t UnitState::gap_before(std::size_t stretch) const {
  if (stretch > 0) return stretch - 1;
  return unit_->persistent && unit_->may_leave ? unit_->stretches.size() - 1 : unit_->gap_count();
}

bool UnitState::is_brought(std::size_t stretch) const {
  const std::size_t before = gap_before(stretch);
  return fast_[stretch] && before < gaps_.size() && !gaps_[before].kept;
}

std::vector<bool> UnitState::write_backs() const {
  std::vector<bool> result(gaps_.size(), false);
  bool valid = unit_->persistent && !gaps_.empty() && !gaps_.back().kept;  // a copy in the slow tier
  for (std::size_t s = 0; s < gaps_.size(); ++s) {
    if (unit_->stretches[s].writes) valid = !fast_[s];
    if (!fast_[s] || gaps_[s].kept) continue;
    result[s] = !valid;
    valid = true;
  }
  return result;
}

// Pieces end and begin at gaps that are not kept; none is open over a stretch in the slow tier.
TensorSchedule UnitState::schedule(Interval<graph::OpIndex> range, graph::OpIndex op_count) const {
  if (unit_->pinned()) return fast_over(range, unit_->persistent);
  const std::size_t count = unit_->stretches.size();
  const bool starts_fast = unit_->persistent && !gaps_.empty() && gaps_.back().kept;
  TensorSchedule schedule{.fast_at_start = starts_fast, .pieces = {}};
  for (std::size_t s = 0; s < count; ++s) {
    if (!fast_[s]) continue;
    const Interval<graph::OpIndex> uses = unit_->stretches[s].ops;
    const std::size_t before = gap_before(s);
    if (s == 0 || !gaps_[s - 1].kept) {
      graph::OpIndex begin = starts_fast && s == 0 ? 0 : uses.begin;
      if (is_brought(s)) begin = gaps_[before].window_begin;
      schedule.pieces.push_back({.ops = {begin, begin},
                                 .first_use = uses.begin,
                                 .comes = plan::Cause::kAhead,
                                 .leaves = plan::Cause::kPlacedInSlow});
    }
    FastPiece& piece = schedule.pieces.back();
    piece.last_use = piece.evict_after = uses.end - 1;
    piece.ops.end = uses.end;
    if (s < gaps_.size()) piece.ops.end = gaps_[s].tail_end;
  }
  if (starts_fast) schedule.pieces.back().ops.end = op_count;
  return schedule;
}

}  // namespace sluice::planners
