#include "sluice/planners/autotm/hide_moves.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

constexpr int kMostPasses = 50;
constexpr double kRounding = 1e-9;  // of loads, and of gains

class MoveHiding {
 public:
  MoveHiding(const Formulation& program, const PlacementProblem& problem, PlacedStep placed)
      : program_(program),
        problem_(problem),
        placed_(std::move(placed)),
        load_(problem.graph.ops().size(), 0),
        beside_(problem.graph.ops().size(), 0),
        span_of_(program.ilp.columns.size()) {
    find_loads();
    for (std::size_t i = 0; i < placed_.paths.size(); ++i) {
      if (!program_.columns_of[i].out_beside.empty()) find_moves(i);
    }
    find_op_seconds();
  }

  PlacedStep run() {
    bool better = true;
    for (int pass = 0; pass < kMostPasses && better; ++pass) {
      better = false;
      for (Move& move : moves_) better = put_where_it_costs_least(move) || better;
    }
    return std::move(placed_);
  }

 private:
  struct Move {
    const std::map<graph::OpIndex, int>* columns;  // by op beside which it may be
    graph::OpIndex* at;                            // of the path
    const graph::OpIndex* other;                   // the other move of the gap; nullptr where it is no matter
    bool inward = false;
    Seconds seconds = 0;
  };

  void find_loads() {
    const std::vector<double> values = program_.values_of(placed_);
    for (const LoadSpan& span : program_.loads) {
      if (span.column != kAlways) span_of_[as_index(span.column)] = span;
      add_load(span, span.column == kAlways ? 1 : values[as_index(span.column)]);
    }
  }

  void add_load(const LoadSpan& span, double times) {
    for (graph::OpIndex op = span.ops.begin; op < span.ops.end; ++op) load_[op] += times * span.size;
  }

  void find_moves(std::size_t index) {
    const MovingUnit& unit = problem_.units[index];
    UnitPath& path = placed_.paths[index];
    const Formulation::PathColumns& columns = program_.columns_of[index];
    for (std::size_t gap = 0; gap < path.stays.size(); ++gap) {
      const std::size_t next = wraps(unit, gap) ? 0 : gap + 1;
      if (path.stays[gap] || !path.fast[next] || columns.in_beside[gap].empty()) continue;
      add({&columns.in_beside[gap], &path.in_beside[gap], wraps(unit, gap) ? nullptr : &path.out_beside[gap], true,
           problem_.costs.transfer_seconds(problem_.slow.inward, unit.load())});
    }
    for (const UnitValue& value : values_of(unit)) {
      const auto leaves = std::ranges::find_if(value.gaps, [&](std::size_t gap) { return !path.stays[gap]; });
      const bool made_fast = value.from_before ? path.stays.back() : path.fast[value.writer];
      if (!made_fast || leaves == value.gaps.end() || columns.out_beside[*leaves].empty()) continue;
      add({&columns.out_beside[*leaves], &path.out_beside[*leaves],
           wraps(unit, *leaves) ? nullptr : &path.in_beside[*leaves], false,
           problem_.costs.transfer_seconds(problem_.slow.outward, unit.load())});
    }
  }

  void add(const Move& move) {
    moves_.push_back(move);
    if (*move.at != kBesideNoOp) beside_[*move.at] += move.seconds;
  }

  void find_op_seconds() {
    std::vector<std::vector<std::size_t>> slow(problem_.graph.ops().size());
    for (std::size_t i = 0; i < placed_.paths.size(); ++i) {
      const UnitPath& path = placed_.paths[i];
      for (std::size_t use = 0; use < path.fast.size(); ++use) {
        if (!path.fast[use]) slow[as_index(problem_.units[i].uses[use].op)].push_back(i);
      }
    }
    for (graph::OpIndex op = 0; op < problem_.graph.op_count(); ++op) {
      const bool chosen = !problem_.alternatives.empty() && !problem_.alternatives[op].empty();
      op_seconds_.push_back(seconds_with(problem_, op, slow[as_index(op)]) +
                            (chosen ? problem_.alternatives[op][placed_.alternative_of[op]].longer : 0));
    }
  }

  // What compute waits for more, with such a move beside the op.
  Seconds cost_beside(graph::OpIndex op, Seconds seconds) const {
    const auto waits = [&](Seconds moves) { return std::max(0.0, moves - op_seconds_[op]); };
    return waits(beside_[op] + seconds) - waits(beside_[op]);
  }

  // It does not come before it has left.
  static bool may_be_beside(const Move& move, graph::OpIndex op) {
    if (move.other == nullptr || *move.other == kBesideNoOp) return true;
    return move.inward ? op > *move.other : op < *move.other;
  }

  bool has_room(const LoadSpan& span) const {
    for (graph::OpIndex op = span.ops.begin; op < span.ops.end; ++op) {
      const double limit = static_cast<double>(problem_.limits[op]) / program_.bytes_per_unit;
      if (load_[op] + span.size > limit + kRounding) return false;
    }
    return true;
  }

  void put(const Move& move, graph::OpIndex op, double times) {
    if (op == kBesideNoOp) return;
    beside_[op] += times * move.seconds;
    add_load(span_of_[as_index(move.columns->at(op))], times);
  }

  bool put_where_it_costs_least(Move& move) {
    const graph::OpIndex before = *move.at;
    put(move, before, -1);
    graph::OpIndex best = before;
    Seconds least = before == kBesideNoOp ? move.seconds : cost_beside(before, move.seconds);
    if (move.seconds < least - kRounding * move.seconds) {
      best = kBesideNoOp;
      least = move.seconds;
    }
    for (const auto& [op, column] : *move.columns) {
      if (!may_be_beside(move, op)) continue;
      const Seconds cost = cost_beside(op, move.seconds);
      if (cost >= least - kRounding * move.seconds || !has_room(span_of_[as_index(column)])) continue;
      best = op;
      least = cost;
    }
    *move.at = best;
    put(move, best, 1);
    return best != before;
  }

  const Formulation& program_;
  const PlacementProblem& problem_;
  PlacedStep placed_;
  IdVector<graph::OpIndex, double> load_;     // as the program counts it
  IdVector<graph::OpIndex, Seconds> beside_;  // of moves beside it
  IdVector<graph::OpIndex, Seconds> op_seconds_;
  std::vector<LoadSpan> span_of_;  // by column
  std::vector<Move> moves_;
};

}  // namespace

PlacedStep hide_moves(const Formulation& program, const PlacementProblem& problem, PlacedStep placed) {
  return MoveHiding(program, problem, std::move(placed)).run();
}

}  // namespace sluice::planners
