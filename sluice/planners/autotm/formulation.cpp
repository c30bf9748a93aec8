#include "sluice/planners/autotm/formulation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

constexpr double kAddsUp = 1e-9;  // of an op's time: rounding

class FormulationWriter {
 public:
  FormulationWriter(const PlacementProblem& problem, Movement movement, const Reductions& reductions)
      : problem_(problem),
        movement_(movement),
        reductions_(reductions),
        ops_(problem.graph.op_count()),
        beside_(problem.graph.ops().size()),
        longer_(problem.graph.ops().size()) {
    result_.alternatives.resize(problem.graph.ops().size());
    for (const Bytes limit : problem.limits) {
      result_.bytes_per_unit = std::max(result_.bytes_per_unit, static_cast<double>(limit));
    }
    result_.seconds_per_unit = std::max(1e-12, problem.costs.compute_seconds() / 1000);
    always_ = result_.add_derived({.lower = 1, .upper = 1}, {});
  }

  std::optional<Formulation> write(Overfull* overfull) {
    find_full_ops();
    for (std::size_t i = 0; i < problem_.units.size(); ++i) add_unit(i);
    for (graph::OpIndex op = 0; op < as_id<graph::OpIndex>(problem_.alternatives.size()); ++op) add_alternatives(op);
    add_op_times();
    if (!add_capacity(overfull)) return std::nullopt;
    return std::move(result_);
  }

 private:
  using PathColumns = Formulation::PathColumns;

  double time(Seconds seconds) const { return seconds / result_.seconds_per_unit; }
  double size(Bytes bytes) const { return static_cast<double>(bytes) / result_.bytes_per_unit; }
  void add_cost(int column, double cost) { result_.ilp.columns[column == kAlways ? always_ : column].cost += cost; }
  int add_choice() { return result_.ilp.add({.lower = 0, .upper = 1, .integer = true}); }
  void add_row(std::vector<Term> terms, double upper) {
    for (const Term& term : terms) upper -= term.column == kAlways ? term.coefficient : 0;
    std::erase_if(terms, [](const Term& term) { return term.column == kAlways; });
    if (!terms.empty()) result_.ilp.rows.push_back({.terms = std::move(terms), .upper = upper});
  }

  void find_full_ops();
  bool is_full(Interval<graph::OpIndex> ops) const { return full_before_[ops.begin] != full_before_[ops.end]; }
  void add_unit(std::size_t index);
  void add_undecided(const MovingUnit& unit);
  // Over a gap of a whole life in one tier, and before all of a block is made.
  bool stays_where_it_is(const MovingUnit& unit, std::size_t gap) const {
    return movement_ == Movement::kStatic || unit.uses[gap].op < unit.complete_after;
  }
  void add_fast(const MovingUnit& unit, PathColumns& path);
  void add_stays(const MovingUnit& unit, PathColumns& path);
  void add_moves(const MovingUnit& unit, PathColumns& path);
  void add_moves_beside(const MovingUnit& unit, std::size_t gap, PathColumns& path);
  void add_copy_out(const MovingUnit& unit, const PathColumns& path, const UnitValue& value);
  void add_alternatives(graph::OpIndex op);
  void add_op_times();
  void add_op_time(graph::OpIndex op, Sum longer);
  Sum time_of(graph::OpIndex op, const std::vector<std::size_t>& units, const std::vector<int>& fast);
  bool add_capacity(Overfull* overfull);
  std::vector<graph::OpIndex> ops_with_rows() const;

  const PlacementProblem& problem_;
  Movement movement_;
  Reductions reductions_;
  graph::OpIndex ops_;
  Formulation result_;
  int always_ = 0;                             // a column that is 1: what does not depend on choices
  IdVector<graph::OpIndex, int> full_before_;  // ops before it at which not everything fits
  IdVector<graph::OpIndex, Sum> beside_;       // by op: time of the moves beside it
  IdVector<graph::OpIndex, Sum> longer_;       // by op: than with its first implementation
};

void FormulationWriter::find_full_ops() {
  std::vector<LoadSpan> all;
  for (const MovingUnit& unit : problem_.units) {
    const Bytes bytes = std::max(unit.moved_bytes, unit.kept_bytes);
    all.push_back({unit.range, kAlways, static_cast<double>(bytes)});
  }
  for (graph::OpIndex op = 0; op < as_id<graph::OpIndex>(problem_.alternatives.size()); ++op) {
    if (problem_.alternatives[op].empty()) continue;
    all.push_back({{op, op + 1}, kAlways, static_cast<double>(problem_.alternatives[op].back().more_bytes)});
  }
  const IdVector<int, double> load = whole_load(all, ops_);
  full_before_.assign(as_index(ops_) + 1, 0);
  for (graph::OpIndex op = 0; op < ops_; ++op) {
    const bool full = load[op] > static_cast<double>(problem_.limits[op]);
    full_before_[op + 1] = full_before_[op] + (full ? 1 : 0);
  }
}

void FormulationWriter::add_unit(std::size_t index) {
  const MovingUnit& unit = problem_.units[index];
  PathColumns& path = result_.columns_of.emplace_back();
  const bool matters = !reductions_.only_what_matters || is_full(unit.range);
  if (unit.uses.empty() || !may_be_placed(problem_, unit) || !matters) return add_undecided(unit);
  add_fast(unit, path);
  add_stays(unit, path);
  if (movement_ != Movement::kStatic) add_moves(unit, path);
}

void FormulationWriter::add_undecided(const MovingUnit& unit) {
  result_.loads.push_back({unit.range, kAlways, size(unit.kept_bytes)});
}

void FormulationWriter::add_fast(const MovingUnit& unit, PathColumns& path) {
  for (std::size_t i = 0; i < unit.uses.size(); ++i) {
    int column = kAlways;
    if (problem_.in_place) column = i > 0 && stays_where_it_is(unit, i - 1) ? path.fast.back() : add_choice();
    path.fast.push_back(column);
    result_.loads.push_back({{unit.uses[i].op, unit.uses[i].op + 1}, column, size(unit.moved_bytes)});
  }
}

void FormulationWriter::add_stays(const MovingUnit& unit, PathColumns& path) {
  for (std::size_t gap = 0; gap < gap_count(unit); ++gap) {
    const std::vector<Interval<graph::OpIndex>> ranges = ops_of_gap(unit, gap, ops_);
    const std::size_t next = wraps(unit, gap) ? 0 : gap + 1;
    const bool gains_nothing = !problem_.in_place && !unit.persistent && movement_ == Movement::kSynchronous;
    const bool idle = reductions_.idle_gaps && gains_nothing &&
                      std::ranges::none_of(ranges, [&](const Interval<graph::OpIndex>& each) { return is_full(each); });
    int column = path.fast[gap];
    if (!stays_where_it_is(unit, gap)) column = idle ? kAlways : add_choice();
    path.stays.push_back(column);
    for (const Interval<graph::OpIndex>& each : ranges) result_.loads.push_back({each, column, size(unit.moved_bytes)});
    for (const std::size_t side : {gap, next}) {
      if (path.fast[side] != column && path.fast[side] != kAlways) add_row({{column, 1}, {path.fast[side], -1}}, 0);
    }
  }
}

void FormulationWriter::add_moves(const MovingUnit& unit, PathColumns& path) {
  const double in = time(problem_.costs.transfer_seconds(problem_.slow.inward, unit.load()));
  path.out_beside.resize(path.stays.size());
  path.in_beside.resize(path.stays.size());
  for (std::size_t gap = 0; gap < path.stays.size(); ++gap) {
    if (path.stays[gap] == path.fast[gap]) continue;
    add_cost(path.fast[wraps(unit, gap) ? 0 : gap + 1], in);
    add_cost(path.stays[gap], -in);
    if (movement_ == Movement::kAsynchronous) add_moves_beside(unit, gap, path);
  }
  for (const UnitValue& value : values_of(unit)) add_copy_out(unit, path, value);
}

// Equation (8): what leaves may leave beside one of the next ops, and what comes may come beside one of those before its
// use. It has room meanwhile. It does not come before it has left.
void FormulationWriter::add_moves_beside(const MovingUnit& unit, std::size_t gap, PathColumns& path) {
  const double in = time(problem_.costs.transfer_seconds(problem_.slow.inward, unit.load()));
  const double out = time(problem_.costs.transfer_seconds(problem_.slow.outward, unit.load()));
  const std::size_t next = wraps(unit, gap) ? 0 : gap + 1;
  const std::vector<Interval<graph::OpIndex>> ranges = ops_of_gap(unit, gap, ops_);
  const Interval<graph::OpIndex> behind = ranges.front();
  const Interval<graph::OpIndex> before = ranges.back();
  std::vector<Term> leaves{{path.stays[gap], 1}, {path.fast[gap], -1}};
  for (graph::OpIndex op = behind.begin; op < std::min(behind.end, behind.begin + kBesideOps); ++op) {
    const int column = path.out_beside[gap][op] = add_choice();
    leaves.push_back({column, 1});
    result_.loads.push_back({{behind.begin, op + 1}, column, size(unit.moved_bytes)});
    beside_[op].add(column, out);
  }
  std::vector<Term> comes{{path.stays[gap], 1}, {path.fast[next], -1}};
  for (graph::OpIndex op = std::max(before.begin, before.end - kBesideOps); op < before.end; ++op) {
    const int column = path.in_beside[gap][op] = add_choice();
    add_cost(column, -in);  // instead of directly before the use
    comes.push_back({column, 1});
    result_.loads.push_back({{op, before.end}, column, size(unit.moved_bytes)});
    beside_[op].add(column, in);
  }
  add_row(std::move(leaves), 0);
  add_row(std::move(comes), 0);
  if (wraps(unit, gap)) return;
  for (const auto& [out_op, out_column] : path.out_beside[gap]) {
    std::vector<Term> crossing{{out_column, 1}};
    for (const auto& [in_op, in_column] : path.in_beside[gap]) {
      if (in_op <= out_op) crossing.push_back({in_column, 1});
    }
    if (crossing.size() > 1) add_row(std::move(crossing), 1);
  }
}

// A value is copied out once, when it first leaves: beside an op, or directly behind the use.
void FormulationWriter::add_copy_out(const MovingUnit& unit, const PathColumns& path, const UnitValue& value) {
  const int made_fast = value.from_before ? path.stays.back() : path.fast[value.writer];
  std::vector<Sum> when;
  Sum not_beside;
  for (const std::size_t gap : value.gaps) {
    for (const auto& [op, column] : path.out_beside[gap]) not_beside.add(column, -1);
    if (path.stays[gap] == made_fast) continue;
    when.push_back(Sum(not_beside).add(made_fast, 1).add(path.stays[gap], -1));
  }
  if (when.empty()) return;
  const double out = time(problem_.costs.transfer_seconds(problem_.slow.outward, unit.load()));
  result_.add_derived({.cost = out, .lower = 0, .upper = 1}, when);
}

// Equations (9) and (10): one of them runs.
void FormulationWriter::add_alternatives(graph::OpIndex op) {
  const std::vector<Alternative>& all = problem_.alternatives[op];
  // Ascending in bytes: one is dominated by an earlier one that is no slower, or by a later one as small that is faster.
  const auto dominates = [&](std::size_t a, std::size_t b) {
    if (a == b || all[a].more_bytes > all[b].more_bytes || all[a].longer > all[b].longer) return false;
    return a < b || all[a].more_bytes < all[b].more_bytes || all[a].longer < all[b].longer;
  };
  std::vector<std::size_t> worth;
  for (std::size_t each = 0; each < all.size(); ++each) {
    bool dominated = false;
    for (std::size_t other = 0; other < all.size(); ++other) dominated = dominated || dominates(other, each);
    if (!dominated || !reductions_.dominated) worth.push_back(each);
  }
  Row one_of_them{.terms = {}, .lower = 1, .upper = 1};
  for (const std::size_t each : worth) {
    const int column = worth.size() == 1 ? kAlways : add_choice();
    result_.alternatives[op][each] = column;
    result_.loads.push_back({{op, op + 1}, column, size(all[each].more_bytes)});
    longer_[op].add(column, time(all[each].longer));
    one_of_them.terms.push_back({column, 1});
  }
  if (worth.size() > 1) result_.ilp.rows.push_back(std::move(one_of_them));
}

// The time of the op beyond what it takes with everything fast: equation (6).
Sum FormulationWriter::time_of(graph::OpIndex op, const std::vector<std::size_t>& units, const std::vector<int>& fast) {
  const Seconds all_fast = problem_.costs.op_seconds(op);
  Sum sum;
  std::vector<double> alone;
  for (const std::size_t unit : units) alone.push_back(time(seconds_with(problem_, op, {unit}) - all_fast));
  std::vector<double> sets;
  bool separable = true;
  for (std::size_t set = 0; units.size() <= kMostConfigured && set < std::size_t{1} << units.size(); ++set) {
    std::vector<std::size_t> slow;
    double apart = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (((set >> i) & 1) == 0) continue;
      slow.push_back(units[i]);
      apart += alone[i];
    }
    sets.push_back(time(seconds_with(problem_, op, slow) - all_fast));
    separable = separable && std::abs(sets.back() - apart) <= kAddsUp * time(all_fast);
  }
  if (sets.empty() || (separable && reductions_.separable_ops)) {
    for (std::size_t i = 0; i < units.size(); ++i) sum.add(kAlways, alone[i]).add(fast[i], -alone[i]);
    return sum;
  }
  result_.add_configurations(fast, std::vector<double>(sets.size(), 0));
  const int first = result_.configurations.back().first;
  for (std::size_t set = 0; set < sets.size(); ++set) sum.add(first + static_cast<int>(set), sets[set]);
  return sum;
}

void FormulationWriter::add_op_times() {
  add_cost(kAlways, time(problem_.costs.compute_seconds()));
  IdVector<graph::OpIndex, std::vector<std::size_t>> units(as_index(ops_));
  IdVector<graph::OpIndex, std::vector<int>> fast(as_index(ops_));
  for (std::size_t i = 0; problem_.in_place && i < problem_.units.size(); ++i) {
    for (std::size_t use = 0; use < result_.columns_of[i].fast.size(); ++use) {
      units[problem_.units[i].uses[use].op].push_back(i);
      fast[problem_.units[i].uses[use].op].push_back(result_.columns_of[i].fast[use]);
    }
  }
  for (graph::OpIndex op = 0; op < ops_; ++op)
    add_op_time(op, units[op].empty() ? Sum() : time_of(op, units[op], fast[op]));
}

// `longer`: than with everything fast.
void FormulationWriter::add_op_time(graph::OpIndex op, Sum longer) {
  longer_[op].for_each([&](int column, double coefficient) { longer.add(column, coefficient); });
  if (beside_[op].is_constant()) {
    longer.for_each([&](int column, double coefficient) { add_cost(column, coefficient); });
    return;
  }
  // Equation (7): the longer of the op and of the moves beside it.
  const double alone = time(problem_.costs.op_seconds(op));
  Sum moves = beside_[op];
  moves.add(kAlways, -alone);
  result_.add_derived({.cost = 1, .lower = -alone}, {longer, moves});
}

std::vector<graph::OpIndex> FormulationWriter::ops_with_rows() const {
  std::vector<graph::OpIndex> ops(as_index(ops_));
  std::iota(ops.begin(), ops.end(), 0);
  if (reductions_.capacity_at_maxima) {
    ops = maxima_of(result_.loads, ops_);
    for (graph::OpIndex op = 0; op < ops_; ++op) {
      if (size(problem_.limits[op]) < 1) ops.push_back(op);  // narrower than its neighbours
    }
    std::ranges::sort(ops);
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  }
  std::erase_if(ops, [&](graph::OpIndex op) { return !is_full({op, op + 1}); });
  return ops;
}

// Equations (5) and (9).
bool FormulationWriter::add_capacity(Overfull* overfull) {
  const IdVector<int, double> constant = whole_load(result_.loads, ops_, /*constant_only=*/true);
  for (graph::OpIndex op = 0; op < ops_; ++op) {
    if (constant[op] <= size(problem_.limits[op]) * (1 + 1e-12)) continue;
    if (overfull != nullptr) *overfull = {op, static_cast<Bytes>(std::llround(constant[op] * result_.bytes_per_unit))};
    return false;
  }
  const std::vector<graph::OpIndex> ops = ops_with_rows();
  const std::vector<int> loads = result_.add_loads(result_.loads, ops);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    result_.ilp.columns[loads[i]].upper = std::max(0.0, size(problem_.limits[ops[i]]) - constant[ops[i]]);
  }
  return true;
}

}  // namespace

std::optional<Formulation> formulate(const PlacementProblem& problem, Movement movement, const Reductions& reductions,
                                     Overfull* overfull) {
  return FormulationWriter(problem, movement, reductions).write(overfull);
}

}  // namespace sluice::planners
