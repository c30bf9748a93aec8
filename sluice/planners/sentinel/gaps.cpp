#include "sluice/planners/sentinel/gaps.hpp"

namespace sluice {

std::vector<Interval<OpIndex>> gap_ranges(const Gap& gap, OpIndex op_count) {
  if (!gap.wraps) return {{gap.previous_use + 1, gap.next_use}};
  return {{gap.previous_use + 1, op_count}, {0, gap.next_use}};
}

std::vector<Gap> find_gaps(const std::vector<MovingUnit>& units, OpIndex op_count, Bytes small_bytes,
                           bool move_short_lived) {
  std::vector<Gap> gaps;
  for (std::size_t index = 0; index < units.size(); ++index) {
    const MovingUnit& unit = units[index];
    const auto& uses = unit.uses;
    const Bytes bytes = unit.moved_bytes;
    const bool may_move = unit.may_move || (move_short_lived && unit.short_lived);
    if (!may_move || bytes < small_bytes) continue;
    for (std::size_t i = 0; i + 1 < uses.size(); ++i) {
      if (uses[i].op + 1 == uses[i + 1].op || uses[i].op < unit.complete_after) continue;
      gaps.push_back({.unit = index, .bytes = bytes, .previous_use = uses[i].op, .next_use = uses[i + 1].op});
    }
    if (unit.persistent && uses.back().op + 1 < op_count) {
      gaps.push_back(
          {.unit = index, .bytes = bytes, .previous_use = uses.back().op, .next_use = uses.front().op, .wraps = true});
    }
  }
  return gaps;
}

void mark_writes(const std::vector<Use>& uses, std::vector<Gap>::iterator begin, std::vector<Gap>::iterator end) {
  bool slow_valid = begin != end && (end - 1)->wraps && (end - 1)->cut;  // there since the step's start
  auto gap = begin;
  for (const Use& use : uses) {
    if (use.writes) slow_valid = false;
    if (gap == end || gap->previous_use != use.op) continue;
    if (gap->cut) {
      gap->writes = !slow_valid;
      slow_valid = true;
    }
    ++gap;
  }
}

}  // namespace sluice
