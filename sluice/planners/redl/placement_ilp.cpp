#include "sluice/planners/redl/placement_ilp.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/redl/placement_program.hpp"
#include "sluice/planners/schedule/reservation_table.hpp"

namespace sluice::planners {
namespace {

// The answer where the solvers find none in time: what saves most for the room and time it takes, stretches before
// gaps.
class Greedy {
 public:
  Greedy(const RedlProblem& problem, const std::vector<StretchedUnit>& units, Bytes capacity)
      : problem_(problem), units_(units), table_(problem.graph.op_count(), capacity) {}

  std::vector<UnitPlacement> choose() {
    collect();
    std::ranges::stable_sort(items_, [](const Item& a, const Item& b) {
      return std::tie(a.is_gap, b.density) < std::tie(b.is_gap, a.density);
    });
    for (const Item& item : items_) take(item);
    return std::move(chosen_);
  }

 private:
  struct Item {
    std::size_t unit = 0;
    std::size_t index = 0;
    bool is_gap = false;
    double density = 0;
    std::vector<Interval<graph::OpIndex>> ranges;
  };

  void collect();
  Item item_of(std::size_t unit, std::size_t index, bool is_gap) const;
  void take(const Item& item);

  const RedlProblem& problem_;
  const std::vector<StretchedUnit>& units_;
  ReservationTable table_;
  std::vector<Item> items_;
  std::vector<UnitPlacement> chosen_;
};

Greedy::Item Greedy::item_of(std::size_t unit, std::size_t index, bool is_gap) const {
  const StretchedUnit& divided = units_[unit];
  Item item{.unit = unit, .index = index, .is_gap = is_gap, .ranges = {divided.stretches[index].ops}};
  if (is_gap) item.ranges = ranges_of_gap(divided, index, problem_.graph.op_count());
  Seconds held = 1e-12;
  for (const auto& range : item.ranges) held += problem_.seconds_in(range);
  const SlowTier& slow = problem_.units[unit].slow;
  const Seconds saved = is_gap ? problem_.costs.transfer_seconds(slow.inward, divided.bytes) +
                                     problem_.costs.transfer_seconds(slow.outward, divided.bytes)
                               : divided.stretches[index].slow_seconds;
  item.density = saved / (held * static_cast<double>(std::max<Bytes>(1, divided.bytes)));
  return item;
}

// What there is no choice about is in the fast tier and has its room first.
void Greedy::collect() {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const StretchedUnit& unit = units_[i];
    chosen_.push_back(
        {std::vector<bool>(unit.stretches.size(), !unit.in_place), std::vector<bool>(unit.gap_count(), false)});
    for (std::size_t s = 0; s < unit.stretches.size(); ++s) {
      if (unit.in_place) {
        items_.push_back(item_of(i, s, false));
      } else {
        table_.reserve(unit.stretches[s].ops, unit.bytes);
      }
    }
    for (std::size_t gap = 0; gap < unit.gap_count(); ++gap) items_.push_back(item_of(i, gap, true));
  }
}

void Greedy::take(const Item& item) {
  const StretchedUnit& unit = units_[item.unit];
  UnitPlacement& chosen = chosen_[item.unit];
  if (item.is_gap && !(chosen.fast[item.index] && chosen.fast[unit.wraps(item.index) ? 0 : item.index + 1])) return;
  if (!std::ranges::all_of(item.ranges, [&](const auto& range) { return table_.fits(range, unit.bytes); })) return;
  for (const auto& range : item.ranges) table_.reserve(range, unit.bytes);
  (item.is_gap ? chosen.kept : chosen.fast)[item.index] = true;
}

bool everything_fits(const RedlProblem& problem, Bytes capacity) {
  ReservationTable all(problem.graph.op_count(), capacity);
  for (const MovingUnit& unit : problem.units) all.reserve(unit.range, unit.kept_bytes);
  return all.fits({0, problem.graph.op_count()}, 0);
}

Placement all_fast(const std::vector<StretchedUnit>& units) {
  Placement placement{.units = {}, .status = "optimal"};
  for (const StretchedUnit& unit : units) {
    placement.units.push_back(
        {std::vector<bool>(unit.stretches.size(), true), std::vector<bool>(unit.gap_count(), true)});
  }
  return placement;
}

}  // namespace

std::optional<Placement> place(const RedlProblem& problem, const std::vector<StretchedUnit>& units,
                               const Capacities& capacities, const SolveLimits& limits) {
  if (everything_fits(problem, capacities.fast)) return all_fast(units);
  const std::optional<PlacementProgram> program = write_program(problem, units, capacities);
  if (!program) return std::nullopt;
  std::vector<double> start = program->complete(Greedy(problem, units, capacities.fast).choose());
  if (program->ilp.violation(start) > 1e-6) start.clear();  // too little room in the slow tier
  const IlpSolution solution = solve(program->ilp, limits, start);
  if (solution.values.empty()) return std::nullopt;
  return Placement{.units = program->choices_of(solution.values),
                   .status = describe(solution),
                   .lost_seconds = solution.cost * program->seconds_per_unit - problem.start.back(),
                   .columns = count_of(program->ilp.columns),
                   .rows = count_of(program->ilp.rows)};
}

}  // namespace sluice::planners
