#include "sluice/planners/redl/stretches.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

Seconds slow_seconds(const RedlProblem& problem, std::size_t unit, Interval<graph::OpIndex> ops) {
  Seconds seconds = 0;
  for (const graph::Use& use : problem.units[unit].uses) {
    if (ops.contains(use.op)) seconds += seconds_lost(problem, use.op, std::span(&unit, 1));
  }
  return seconds;
}

class Divider {
 public:
  Divider(const RedlProblem& problem, const StretchRules& rules) : problem_(problem), rules_(rules) {}

  StretchedUnit divide(std::size_t index) const {
    const MovingUnit& unit = problem_.units[index];
    StretchedUnit result{.stretches = {}, .persistent = unit.persistent};
    const bool large = unit.moved_bytes >= rules_.small_bytes;
    const bool in_place = large && problem_.addressable(unit) && (unit.may_move || unit.short_lived);
    const bool leaves = large && !rules_.undivided && (unit.may_move || (unit.short_lived && rules_.short_lived_leave));
    result.bytes = leaves || in_place ? unit.moved_bytes : unit.kept_bytes;
    if (leaves) {
      result.stretches = runs_of_uses(unit);
    } else if (!unit.range.empty()) {
      const bool writes = std::ranges::any_of(unit.uses, &graph::Use::writes);
      result.stretches.push_back({.ops = unit.range, .writes = writes});
    }
    result.in_place = in_place;
    result.may_leave = leaves && (unit.persistent || result.stretches.size() > 1);
    if (in_place) {
      for (Stretch& stretch : result.stretches) stretch.slow_seconds = slow_seconds(problem_, index, stretch.ops);
    }
    return result;
  }

 private:
  std::vector<Stretch> runs_of_uses(const MovingUnit& unit) const {
    std::vector<Stretch> runs;
    for (const graph::Use& use : unit.uses) {
      if (runs.empty() || is_gap(unit, runs.back().ops.end, use.op)) runs.push_back({.ops = {use.op, use.op}});
      runs.back().ops.end = use.op + 1;
      runs.back().writes = runs.back().writes || use.writes;
    }
    return runs;
  }

  bool is_gap(const MovingUnit& unit, graph::OpIndex begin, graph::OpIndex end) const {
    if (begin == end || begin - 1 < unit.complete_after) return false;
    if (rules_.short_gaps) return true;
    const Seconds there_and_back = problem_.costs.transfer_seconds(unit.slow.outward, unit.moved_bytes) +
                                   problem_.costs.transfer_seconds(unit.slow.inward, unit.moved_bytes);
    return problem_.seconds_in({begin, end}) > there_and_back / 2;
  }

  const RedlProblem& problem_;
  const StretchRules& rules_;
};

}  // namespace

std::vector<StretchedUnit> find_stretches(const RedlProblem& problem, const StretchRules& rules) {
  const Divider divider(problem, rules);
  std::vector<StretchedUnit> units;
  for (std::size_t i = 0; i < problem.units.size(); ++i) units.push_back(divider.divide(i));
  return units;
}

std::vector<Interval<graph::OpIndex>> ranges_of_gap(const StretchedUnit& unit, std::size_t gap,
                                                    graph::OpIndex op_count) {
  const graph::OpIndex begin = unit.stretches[gap].ops.end;
  if (!unit.wraps(gap)) return {{begin, unit.stretches[gap + 1].ops.begin}};
  return {{begin, op_count}, {0, unit.stretches.front().ops.begin}};
}

Seconds seconds_lost(const RedlProblem& problem, graph::OpIndex op, std::span<const std::size_t> slow_units) {
  std::vector<memory::TierId> tiers;
  for (const auto* operands : {&problem.graph.op(op).inputs, &problem.graph.op(op).outputs}) {
    for (const graph::TensorId id : *operands) {
      const auto unit = std::ranges::find_if(slow_units, [&](std::size_t each) {
        return std::ranges::find(problem.units[each].tensors, id) != problem.units[each].tensors.end();
      });
      tiers.push_back(unit != slow_units.end() ? problem.units[*unit].slow.id : memory::kFastTier);
    }
  }
  return problem.costs.op_seconds(op, tiers) - problem.costs.op_seconds(op);
}

std::vector<std::vector<StretchRef>> stretches_of_ops(const RedlProblem& problem,
                                                      const std::vector<StretchedUnit>& units) {
  std::vector<std::vector<StretchRef>> result(as_index(problem.graph.op_count()));
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i].pinned()) continue;
    std::size_t stretch = 0;
    for (const graph::Use& use : problem.units[i].uses) {
      while (use.op >= units[i].stretches[stretch].ops.end) ++stretch;
      result[as_index(use.op)].push_back({i, stretch});
    }
  }
  return result;
}

}  // namespace sluice::planners
