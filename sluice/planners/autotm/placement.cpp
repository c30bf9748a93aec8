#include "sluice/planners/autotm/placement.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/ilp/derived_program.hpp"

namespace sluice::planners {

PlacementProblem placement_problem(const graph::Graph& graph, const memory::Machine& machine,
                                   const profile::CostModel& costs, const SlowTier& slow, std::vector<MovingUnit> units,
                                   Bytes budget) {
  for (MovingUnit& unit : units) unit.slow = slow;
  return {.graph = graph,
          .costs = costs,
          .slow = slow,
          .in_place = machine.addresses(kMainProcessor, slow.id),
          .units = std::move(units),
          .limits = std::vector<Bytes>(graph.ops().size(), budget)};
}

void keep_all_that_fits(PlacementProblem& problem) {
  std::vector<LoadSpan> kept;
  for (const MovingUnit& unit : problem.units) {
    kept.push_back({unit.range, kAlways, static_cast<double>(unit.kept_bytes)});
  }
  const IdVector<int, double> load = whole_load(kept, problem.graph.op_count());
  for (graph::OpIndex op = 0; op < problem.graph.op_count(); ++op) {
    if (load[op] > static_cast<double>(problem.limits[op])) return;
  }
  for (MovingUnit& unit : problem.units) unit.may_move = unit.short_lived = false;
}

bool may_be_placed(const PlacementProblem& problem, const MovingUnit& unit) {
  if (!unit.may_move && !unit.short_lived) return false;
  return problem.in_place || gap_count(unit) > 0;
}

std::size_t gap_count(const MovingUnit& unit) { return unit.uses.size() - (unit.persistent ? 0 : 1); }

bool wraps(const MovingUnit& unit, std::size_t gap) { return gap + 1 == unit.uses.size(); }

std::vector<Interval<graph::OpIndex>> ops_of_gap(const MovingUnit& unit, std::size_t gap, graph::OpIndex op_count) {
  const graph::OpIndex begin = unit.uses[gap].op + 1;
  if (!wraps(unit, gap)) return {{begin, unit.uses[gap + 1].op}};
  return {{begin, op_count}, {0, unit.uses.front().op}};
}

std::vector<UnitValue> values_of(const MovingUnit& unit) {
  std::vector<UnitValue> values;
  if (unit.persistent) values.push_back({.from_before = true, .gaps = {}});
  for (std::size_t i = 0; i < unit.uses.size(); ++i) {
    if (unit.uses[i].writes) values.push_back({.writer = i, .gaps = {}});
    const bool of_this_step = !values.empty() && !(values.back().from_before && wraps(unit, i));
    if (of_this_step && i < gap_count(unit)) values.back().gaps.push_back(i);
  }
  return values;
}

UnitPath always_fast_path(const MovingUnit& unit) {
  const std::size_t gaps = gap_count(unit);
  return {.fast = std::vector<bool>(unit.uses.size(), true),
          .stays = std::vector<bool>(gaps, true),
          .out_beside = std::vector<graph::OpIndex>(gaps, kBesideNoOp),
          .in_beside = std::vector<graph::OpIndex>(gaps, kBesideNoOp)};
}

Seconds seconds_with(const PlacementProblem& problem, graph::OpIndex op, const std::vector<std::size_t>& slow_units) {
  const auto is_slow = [&](graph::TensorId id) {
    return std::ranges::any_of(slow_units, [&](std::size_t unit) {
      return std::ranges::find(problem.units[unit].tensors, id) != problem.units[unit].tensors.end();
    });
  };
  std::vector<memory::TierId> tiers;
  for (const auto* operands : {&problem.graph.op(op).inputs, &problem.graph.op(op).outputs}) {
    for (const graph::TensorId id : *operands) tiers.push_back(is_slow(id) ? problem.slow.id : memory::kFastTier);
  }
  return problem.costs.op_seconds(op, tiers);
}

namespace {

// What is in the fast tier over uses in a row; moves stand directly before and behind it.
std::vector<FastPiece> pieces_of(const MovingUnit& unit, const UnitPath& path) {
  std::vector<FastPiece> pieces;
  for (std::size_t i = 0; i < unit.uses.size(); ++i) {
    if (!path.fast[i]) continue;
    const graph::OpIndex op = unit.uses[i].op;
    if (i == 0 || !path.stays[i - 1]) {
      pieces.push_back({.ops = {op, op + 1}, .first_use = op, .leaves = plan::Cause::kPlacedInSlow});
    }
    FastPiece& piece = pieces.back();
    piece.last_use = piece.evict_after = op;
    piece.ops.end = op + 1;
  }
  return pieces;
}

void move_beside_ops(const MovingUnit& unit, const UnitPath& path, FastPiece& piece) {
  const auto use_at = [&](graph::OpIndex op) {
    return as_index(std::ranges::find(unit.uses, op, &graph::Use::op) - unit.uses.begin());
  };
  const std::size_t first = use_at(piece.first_use);
  const std::size_t last = use_at(piece.last_use);
  const bool comes = first > 0 || unit.persistent;
  const graph::OpIndex in = comes ? path.in_beside[first > 0 ? first - 1 : path.in_beside.size() - 1] : kBesideNoOp;
  piece.comes = in == kBesideNoOp ? plan::Cause::kMissing : plan::Cause::kBesideAnOp;
  if (in != kBesideNoOp) {
    piece.ops.begin = in;
    piece.here_by = in + 1;
  }
  if (last >= path.out_beside.size() || path.out_beside[last] == kBesideNoOp) return;
  piece.evict_after = path.out_beside[last] - 1;
  piece.ops.end = path.out_beside[last] + 1;
}

}  // namespace

TensorSchedule schedule_of(const MovingUnit& unit, const UnitPath& path, graph::OpIndex op_count) {
  TensorSchedule schedule{.fast_at_start = unit.persistent && path.stays.back(), .pieces = pieces_of(unit, path)};
  for (FastPiece& piece : schedule.pieces) move_beside_ops(unit, path, piece);
  if (schedule.fast_at_start) {
    schedule.pieces.front().ops.begin = 0;
    schedule.pieces.back().ops.end = op_count;
  }
  return schedule;
}

}  // namespace sluice::planners
