#include "sluice/planners/redl/placement_program.hpp"

#include <algorithm>
#include <cmath>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

constexpr int kBuckets = 24;
constexpr double kLaneShare = 0.9;    // of a bucket's time that copies can fill
constexpr double kCopyPrice = 1e-3;   // of a second of an idle link: fewer copies, all else equal
constexpr double kWindowTimes = 2;    // room for a copy is held for twice the time it takes, as it may have to queue
constexpr double kWindowPrice = 2.5;  // an op under which a fifth of the memory lacks for copies counts half as lost
constexpr double kSeparable = 0.02;   // operands cost as much together as one by one, to this share
constexpr std::size_t kMostTogether = 4;  // operands of which every set has a column

class Writer {
 public:
  Writer(const RedlProblem& problem, const std::vector<StretchedUnit>& units, const Capacities& capacities)
      : problem_(problem), units_(units), capacities_(capacities), op_count_(problem.graph.op_count()) {
    program_.seconds_per_unit = std::max(1e-12, problem.start.back() / 1000);
    always_ = program_.add_derived({.lower = 1, .upper = 1}, {});
    lanes_.resize(problem.machine.links.size(), std::vector<Sum>(kBuckets));
  }

  std::optional<PlacementProgram> write() {
    for (std::size_t i = 0; i < units_.size(); ++i) add_choices(i);
    add_op_times();
    for (std::size_t i = 0; i < units_.size(); ++i) add_copies(i);
    add_lanes();
    if (!add_fast_capacity()) return std::nullopt;
    add_slow_capacity();
    return std::move(program_);
  }

 private:
  double time(Seconds seconds) const { return seconds / program_.seconds_per_unit; }
  const SlowTier& slow_of(std::size_t unit) const { return problem_.units[unit].slow; }
  bool counts_as_slow(std::size_t unit) const {  // in constraint (3)
    return !units_[unit].pinned() && slow_of(unit).id == problem_.slow.back().id;
  }
  double size(Bytes bytes) const { return static_cast<double>(bytes) / static_cast<double>(capacities_.fast); }
  void add_cost(int column, double cost) { program_.ilp.columns[column == kAlways ? always_ : column].cost += cost; }
  int add_choice() { return program_.ilp.add({.lower = 0, .upper = 1, .integer = true}); }

  void add_choices(std::size_t unit);
  void add_op_times();
  void add_together(graph::OpIndex op, const std::vector<std::size_t>& units, const std::vector<int>& fast);
  void add_copies(std::size_t unit);
  void add_write_backs(std::size_t unit, std::size_t writer);
  void add_write_backs_of_what_is_only_read(std::size_t unit);
  void add_write_back(std::size_t unit, std::size_t stretch, const std::vector<Sum>& when);
  void add_lanes();
  bool add_fast_capacity();
  void add_slow_capacity();
  std::size_t bucket_of(graph::OpIndex op) const;
  Interval<graph::OpIndex> window(std::size_t unit, std::size_t stretch) const;
  Interval<graph::OpIndex> tail(std::size_t unit, std::size_t gap) const;

  const RedlProblem& problem_;
  const std::vector<StretchedUnit>& units_;
  const Capacities& capacities_;
  graph::OpIndex op_count_;
  PlacementProgram program_;
  int always_ = 0;                       // a column that is 1: what does not depend on the choices
  std::vector<LoadSpan> loads_;          // of the fast tier
  std::vector<LoadSpan> windows_;        // room for copies besides
  std::vector<std::vector<Sum>> lanes_;  // by LinkId: seconds of copies, by bucket
};

void Writer::add_choices(std::size_t index) {
  const StretchedUnit& unit = units_[index];
  std::vector<int>& fast = program_.fast_of.emplace_back();
  std::vector<int>& kept = program_.kept_of.emplace_back();
  for (const Stretch& stretch : unit.stretches) {
    fast.push_back(unit.in_place ? add_choice() : kAlways);
    loads_.push_back({stretch.ops, fast.back(), size(unit.bytes)});
  }
  for (std::size_t gap = 0; gap < unit.gap_count(); ++gap) {
    kept.push_back(add_choice());
    for (const auto& ops : ranges_of_gap(unit, gap, op_count_)) loads_.push_back({ops, kept.back(), size(unit.bytes)});
    for (const std::size_t side : {gap, unit.wraps(gap) ? 0 : gap + 1}) {
      if (fast[side] == kAlways) continue;
      program_.ilp.rows.push_back({.terms = {{kept.back(), 1}, {fast[side], -1}}, .upper = 0});
    }
  }
}

// The paper's objective: beyond what the ops take with everything in the slow tier, what each choice saves.
void Writer::add_op_times() {
  add_cost(kAlways, time(problem_.start.back()));
  const auto of_ops = stretches_of_ops(problem_, units_);
  for (graph::OpIndex op = 0; op < op_count_; ++op) {
    std::vector<std::size_t> slow;
    std::vector<int> fast;
    std::vector<double> alone;
    for (const StretchRef& ref : of_ops[as_index(op)]) {
      if (!units_[ref.unit].in_place) continue;
      slow.push_back(ref.unit);
      fast.push_back(program_.fast_of[ref.unit][ref.stretch]);
      alone.push_back(time(seconds_lost(problem_, op, std::span(&ref.unit, 1))));
    }
    if (slow.empty()) continue;
    double sum = 0;
    for (const double each : alone) sum += each;
    const double together = slow.size() == 1 ? sum : time(seconds_lost(problem_, op, slow));
    const bool separable = std::abs(together - sum) <= kSeparable * std::max(together, sum);
    if (!separable && slow.size() <= kMostTogether) {
      add_together(op, slow, fast);
      continue;
    }
    const double share = sum > 0 ? together / sum : 1;
    for (std::size_t i = 0; i < slow.size(); ++i) add_cost(fast[i], -share * alone[i]);
    add_cost(kAlways, share * sum);
  }
}

// Each set of the operands has its own time in the slow tier.
void Writer::add_together(graph::OpIndex op, const std::vector<std::size_t>& units, const std::vector<int>& fast) {
  std::vector<double> times;
  for (std::size_t set = 0; set < std::size_t{1} << units.size(); ++set) {
    std::vector<std::size_t> slow;
    for (std::size_t i = 0; i < units.size(); ++i) {
      if ((set >> i) & 1) slow.push_back(units[i]);
    }
    times.push_back(time(seconds_lost(problem_, op, slow)));
  }
  program_.add_configurations(fast, times);
}

std::size_t Writer::bucket_of(graph::OpIndex op) const {
  const double share = problem_.start[as_index(op)] / std::max(1e-12, problem_.start.back());
  return std::min<std::size_t>(kBuckets - 1, static_cast<std::size_t>(share * kBuckets));
}

// At most a third of the gap: the rest is what its being cut gains.
Interval<graph::OpIndex> Writer::window(std::size_t unit, std::size_t stretch) const {
  const graph::OpIndex end = units_[unit].stretches[stretch].ops.begin;
  const graph::OpIndex begin = stretch == 0 ? 0 : units_[unit].stretches[stretch - 1].ops.end;
  const Seconds held =
      std::min(kWindowTimes * problem_.costs.transfer_seconds(slow_of(unit).inward, units_[unit].bytes),
               problem_.seconds_in({begin, end}) / 3);
  const auto first = std::ranges::lower_bound(problem_.start, problem_.start[as_index(end)] - held);
  return {std::clamp(as_id<graph::OpIndex>(first - problem_.start.begin()), begin, end), end};
}

Interval<graph::OpIndex> Writer::tail(std::size_t unit, std::size_t gap) const {
  const StretchedUnit& divided = units_[unit];
  const graph::OpIndex begin = divided.stretches[gap].ops.end;
  const graph::OpIndex end = divided.wraps(gap) ? op_count_ : divided.stretches[gap + 1].ops.begin;
  const Seconds held = std::min(kWindowTimes * problem_.costs.transfer_seconds(slow_of(unit).outward, divided.bytes),
                                problem_.seconds_in({begin, end}) / 3);
  const auto last = std::ranges::lower_bound(problem_.start, problem_.start[as_index(begin)] + held);
  return {begin, std::clamp(as_id<graph::OpIndex>(last - problem_.start.begin()), begin, end)};
}

void Writer::add_copies(std::size_t index) {
  const StretchedUnit& unit = units_[index];
  if (!unit.may_leave) return;
  const auto& fast = program_.fast_of[index];
  const auto& kept = program_.kept_of[index];
  const memory::LinkId link = slow_of(index).inward;
  const double seconds = time(problem_.costs.transfer_seconds(link, unit.bytes));
  const double price = seconds * (problem_.costs.interference(link) + kCopyPrice);
  for (std::size_t s = 0; s < unit.stretches.size(); ++s) {
    if (s == 0 && !unit.persistent) continue;  // made there
    const int before = kept[s == 0 ? kept.size() - 1 : s - 1];
    lanes_[as_index(link)][bucket_of(unit.stretches[s].ops.begin)].add(fast[s], seconds).add(before, -seconds);
    add_cost(fast[s], price);
    add_cost(before, -price);
    windows_.push_back({window(index, s), fast[s], size(unit.bytes)});
    windows_.push_back({window(index, s), before, -size(unit.bytes)});
  }
  if (std::ranges::none_of(unit.stretches, &Stretch::writes)) return add_write_backs_of_what_is_only_read(index);
  for (std::size_t s = 0; s < unit.stretches.size(); ++s) {
    if (unit.stretches[s].writes) add_write_backs(index, s);
  }
}

// What stretch `writer` wrote in the fast tier is copied out once, when the unit leaves before it is written again.
void Writer::add_write_backs(std::size_t index, std::size_t writer) {
  const StretchedUnit& unit = units_[index];
  const auto& kept = program_.kept_of[index];
  const int fast = program_.fast_of[index][writer];
  std::vector<Sum> when;
  for (std::size_t gap = writer; gap < unit.gap_count();) {
    when.push_back(Sum().add(fast, 1).add(kept[gap], -1));
    gap = unit.wraps(gap) ? 0 : gap + 1;
    if (gap == writer || unit.stretches[gap].writes) break;
  }
  add_write_back(index, writer, when);
  if (writer >= unit.gap_count()) return;
  windows_.push_back({tail(index, writer), fast, size(unit.bytes)});
  windows_.push_back({tail(index, writer), kept[writer], -size(unit.bytes)});
}

// A copy is in the slow tier unless the unit stays in the fast tier between steps.
void Writer::add_write_backs_of_what_is_only_read(std::size_t index) {
  const auto& kept = program_.kept_of[index];
  std::vector<Sum> when;
  for (std::size_t gap = 0; gap + 1 < kept.size(); ++gap) {
    when.push_back(Sum().add(kept.back(), 1).add(kept[gap], -1));
  }
  add_write_back(index, 0, when);
}

void Writer::add_write_back(std::size_t index, std::size_t stretch, const std::vector<Sum>& when) {
  if (when.empty()) return;
  const memory::LinkId link = slow_of(index).outward;
  const double seconds = time(problem_.costs.transfer_seconds(link, units_[index].bytes));
  const double price = seconds * (problem_.costs.interference(link) + kCopyPrice);
  const int column = program_.add_derived({.cost = price, .lower = 0, .upper = 1}, when);
  lanes_[as_index(link)][bucket_of(units_[index].stretches[stretch].ops.end - 1)].add(column, seconds);
}

// Copies of a bucket that exceed its time are waited for.
void Writer::add_lanes() {
  const double room = kLaneShare * time(problem_.start.back()) / kBuckets;
  for (const SlowTier& slow : problem_.slow) {
    for (const memory::LinkId link : {slow.inward, slow.outward}) {
      for (Sum& seconds : lanes_[as_index(link)]) program_.add_derived({.cost = 1}, {seconds.add(kAlways, -room)});
    }
  }
}

bool Writer::add_fast_capacity() {
  const IdVector<graph::OpIndex, double> constant = whole_load(loads_, op_count_, /*constant_only=*/true);
  if (*std::ranges::max_element(constant) > 1 + 1e-12) return false;
  const IdVector<graph::OpIndex, double> all = whole_load(loads_, op_count_);
  std::vector<graph::OpIndex> ops = maxima_of(loads_, op_count_);
  std::erase_if(ops, [&](graph::OpIndex op) { return all[op] <= 1; });
  const std::vector<int> loads = program_.add_loads(loads_, ops);
  const std::vector<int> windows = program_.add_loads(windows_, ops);
  const IdVector<graph::OpIndex, double> constant_windows = whole_load(windows_, op_count_, /*constant_only=*/true);
  graph::OpIndex since = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const double room = 1 - constant[ops[i]];
    program_.ilp.columns[loads[i]].upper = std::max(0.0, room);
    const graph::OpIndex until = i + 1 < ops.size() ? ops[i + 1] : ops[i] + 1;
    const double price = kWindowPrice * time(problem_.seconds_in({since, until})) / 2;
    Sum lacking;
    lacking.add(loads[i], 1).add(windows[i], 1);
    lacking.add(kAlways, constant_windows[ops[i]] - room);
    program_.add_derived({.cost = price}, {lacking});
    since = ops[i];
  }
  return true;
}

// Constraint (3), of the farthest tier. What is ever there is taken to have its room as long as it lives.
void Writer::add_slow_capacity() {
  std::vector<LoadSpan> spans;
  double total = 0;
  const double room = size(capacities_.slow);
  for (std::size_t i = 0; i < units_.size(); ++i) total += counts_as_slow(i) ? size(units_[i].bytes) : 0;
  if (total <= room) return;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (!counts_as_slow(i)) continue;
    std::vector<Sum> when;
    for (const int fast : program_.fast_of[i]) when.push_back(Sum().add(kAlways, 1).add(fast, -1));
    for (const int kept : program_.kept_of[i]) when.push_back(Sum().add(kAlways, 1).add(kept, -1));
    const int ever = program_.add_derived({.lower = 0, .upper = 1}, when);
    spans.push_back({problem_.units[i].range, ever, size(units_[i].bytes)});
  }
  const IdVector<graph::OpIndex, double> all = whole_load(spans, op_count_);
  std::vector<graph::OpIndex> ops = maxima_of(spans, op_count_);
  std::erase_if(ops, [&](graph::OpIndex op) { return all[op] <= room; });
  for (const int load : program_.add_loads(spans, ops)) {
    program_.ilp.columns[load].upper = room;
  }
}

}  // namespace

std::optional<PlacementProgram> write_program(const RedlProblem& problem, const std::vector<StretchedUnit>& units,
                                              const Capacities& capacities) {
  return Writer(problem, units, capacities).write();
}

}  // namespace sluice::planners
