#include "sluice/planners/schedule/gaps.hpp"

#include <algorithm>
#include <optional>

namespace sluice::planners {

std::vector<Interval<graph::OpIndex>> gap_ranges(const Gap& gap, graph::OpIndex op_count) {
  if (!gap.wraps()) return {{gap.previous_use + 1, gap.next_use}};
  return {{gap.previous_use + 1, op_count}, {0, gap.next_use}};
}

namespace {

// The step makes it, and may make it in its slow tier.
bool may_begin_slow(const MovingUnit& unit, const std::set<memory::TierId>& usable) {
  const bool made = !unit.persistent && (unit.may_move || unit.short_lived);
  return made && unit.uses.front().writes && !unit.uses.front().reads && usable.contains(unit.slow.id);
}

}  // namespace

std::vector<Gap> find_gaps(const std::vector<MovingUnit>& units, graph::OpIndex op_count, Bytes small_bytes,
                           bool move_short_lived, const std::set<memory::TierId>& usable) {
  std::vector<Gap> gaps;
  for (std::size_t index = 0; index < units.size(); ++index) {
    const MovingUnit& unit = units[index];
    const auto& uses = unit.uses;
    const Bytes bytes = unit.moved_bytes;
    if (bytes < small_bytes) continue;
    if (may_begin_slow(unit, usable)) {
      const graph::OpIndex first = uses.front().op;
      gaps.push_back(
          {.unit = index, .bytes = bytes, .previous_use = first - 1, .next_use = first, .kind = GapKind::kBirth});
    }
    const bool may_move = unit.may_move || (move_short_lived && unit.short_lived);
    if (!may_move) continue;
    for (std::size_t i = 0; i + 1 < uses.size(); ++i) {
      if (uses[i].op + 1 == uses[i + 1].op || uses[i].op < unit.complete_after) continue;
      gaps.push_back({.unit = index, .bytes = bytes, .previous_use = uses[i].op, .next_use = uses[i + 1].op});
    }
    if (unit.persistent && uses.back().op + 1 < op_count) {
      gaps.push_back({.unit = index,
                      .bytes = bytes,
                      .previous_use = uses.back().op,
                      .next_use = uses.front().op,
                      .kind = GapKind::kOverStepEnd});
    } else if (unit.persistent && !gaps.empty() && gaps.back().unit == index) {
      gaps.back().prefetch = Prefetch::kNeeded;  // used by the step's last op, it has to be where the step begins
    }
  }
  return gaps;
}

namespace {

// The unit's gap that comes after `gap` in the cycle of steps; itself when it is the only one and wraps.
std::optional<std::size_t> following(const std::vector<Gap>& gaps, std::size_t gap) {
  if (gap + 1 < gaps.size() && gaps[gap + 1].unit == gaps[gap].unit) return gap + 1;
  if (!gaps[gap].wraps()) return std::nullopt;
  while (gap > 0 && gaps[gap - 1].unit == gaps[gap].unit) --gap;
  return gap;
}

}  // namespace

void leave_in_slow(std::vector<Gap>& gaps, const std::set<PrefetchKey>& left_out) {
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (gaps[i].prefetch == Prefetch::kNeeded || !left_out.contains(key_of(gaps[i]))) continue;
    gaps[i].prefetch = Prefetch::kLeftOut;
    gaps[i].must_cut = true;
    if (const auto next = following(gaps, i)) gaps[*next].must_cut = true;
  }
}

std::vector<graph::Use> uses_behind(const std::vector<Gap>& gaps, std::size_t gap,
                                    const std::vector<graph::Use>& uses) {
  const auto next = following(gaps, gap);
  const graph::OpIndex last = next ? gaps[*next].previous_use : uses.back().op;
  std::vector<graph::Use> behind;
  for (const graph::Use& use : uses) {
    if (use.op >= gaps[gap].next_use && use.op <= last) behind.push_back(use);
  }
  return behind;
}

Stay stay_behind(const std::vector<Gap>& gaps, std::size_t gap, const std::vector<graph::Use>& uses) {
  Stay stay;
  std::optional<std::size_t> next = gap;
  do {
    stay.gaps.push_back(*next);
    for (const graph::Use& use : uses_behind(gaps, *next, uses)) stay.uses.push_back(use);
    next = following(gaps, *next);
  } while (next && *next != gap && !gaps[*next].cut);
  return stay;
}

namespace {

// Of one unit.
void mark_writes_of(const std::vector<graph::Use>& uses, std::vector<Gap>::iterator begin,
                    std::vector<Gap>::iterator end) {
  if (begin == end) return;
  // A copy left in slow memory stays good until the next write: leaving again costs nothing until then.
  const bool starts_slow = (end - 1)->wraps() && (end - 1)->cut;
  bool slow_valid = starts_slow;  // there since the step's start
  bool in_slow = starts_slow && (end - 1)->left_slow();
  auto gap = begin;
  if (gap->is_birth()) in_slow = slow_valid = (gap++)->left_slow();
  for (const graph::Use& use : uses) {
    if (use.writes && !in_slow) slow_valid = false;
    if (gap == end || gap->previous_use != use.op) continue;
    if (gap->cut) {
      gap->writes = !slow_valid;
      slow_valid = true;
      in_slow = gap->left_slow();
    }
    ++gap;
  }
}

}  // namespace

void mark_writes(std::span<const MovingUnit> units, std::vector<Gap>& gaps) {
  for (auto begin = gaps.begin(); begin != gaps.end();) {
    const auto end = std::find_if(begin, gaps.end(), [&](const Gap& gap) { return gap.unit != begin->unit; });
    mark_writes_of(units[begin->unit].uses, begin, end);
    begin = end;
  }
}

void cut_all(std::span<const MovingUnit> units, std::vector<Gap>& gaps, graph::OpIndex op_count,
             ReservationTable& table) {
  std::vector<bool> has_gaps(units.size(), false);
  for (const Gap& gap : gaps) has_gaps[gap.unit] = true;
  for (std::size_t i = 0; i < units.size(); ++i) {
    table.reserve(units[i].range, has_gaps[i] ? units[i].moved_bytes : units[i].kept_bytes);
  }
  for (Gap& gap : gaps) {
    gap.cut = !gap.is_birth() || gap.left_slow();
    gap.tail_end = gap.previous_use + 1;
    gap.window_begin = gap.next_use;
    for (const auto& range : gap_ranges(gap, op_count)) table.reserve(range, -gap.bytes);
  }
}

void release_uses_in_slow(std::span<const MovingUnit> units, const std::vector<Gap>& gaps, ReservationTable& table) {
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (!gaps[i].left_slow()) continue;
    const std::vector<graph::Use> uses = uses_behind(gaps, i, units[gaps[i].unit].uses);
    table.reserve({uses.front().op, uses.back().op + 1}, -gaps[i].bytes);
  }
}

bool keep_if_fits(Gap& gap, graph::OpIndex op_count, ReservationTable& table, Bytes headroom) {
  if (gap.must_cut) return false;
  const auto ranges = gap_ranges(gap, op_count);
  const auto fits = [&](const Interval<graph::OpIndex>& range) { return table.fits(range, gap.bytes, headroom); };
  if (!std::ranges::all_of(ranges, fits)) return false;
  for (const auto& range : ranges) table.reserve(range, gap.bytes);
  gap.cut = false;
  return true;
}

TensorSchedule schedule_of(const MovingUnit& unit, std::span<const Gap> gaps, const GapCauses& causes) {
  if (unit.uses.empty()) return fast_over(unit.range, unit.persistent);
  const Gap* const wrap = !gaps.empty() && gaps.back().wraps() && gaps.back().cut ? &gaps.back() : nullptr;
  TensorSchedule schedule{.fast_at_start = unit.persistent && wrap == nullptr, .pieces = {}};
  std::optional<FastPiece> open;
  const auto begin = [&](graph::OpIndex room, graph::OpIndex use) {
    open = FastPiece{.ops = {room, room}, .first_use = use, .leaves = causes.leaves};
  };
  const auto fetch = [&](const Gap& gap) {
    begin(gap.window_begin, gap.next_use);
    open->comes = causes.comes(gap);
  };
  const auto end = [&](graph::OpIndex room, graph::OpIndex use) {
    if (!open) return;
    open->ops.end = room;
    open->last_use = open->evict_after = use;
    schedule.pieces.push_back(*open);
    open.reset();
  };
  const bool made_slow = !gaps.empty() && gaps.front().is_birth() && gaps.front().left_slow();
  if (wrap == nullptr) {
    if (!made_slow) begin(unit.range.begin, unit.uses.front().op);
  } else if (!wrap->left_slow()) {
    fetch(*wrap);
  }
  for (const Gap& gap : gaps) {
    if (!gap.cut || gap.wraps()) continue;
    end(gap.tail_end, gap.previous_use);
    if (!gap.left_slow()) fetch(gap);
  }
  end(wrap ? wrap->tail_end : unit.range.end, unit.uses.back().op);
  return schedule;
}

}  // namespace sluice::planners
