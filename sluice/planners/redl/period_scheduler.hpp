// Does the work of schedule_periods(), with one member function for each of its numbered decisions. period_schedule.cpp
// decides what is in fast memory to begin with (1 to 3); period_migrations.cpp decides what moves (4 to 6).
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/redl/period_schedule.hpp"
#include "sluice/planners/redl/unit_state.hpp"
#include "sluice/planners/schedule/intervals.hpp"
#include "sluice/planners/schedule/reservation_table.hpp"

namespace sluice::planners {

class PeriodScheduler {
 public:
  PeriodScheduler(const RedlProblem& problem, const std::vector<StretchedUnit>& units, const Placement& placement,
                  int length, Bytes capacity)
      : problem_(problem),
        placement_(placement),
        op_count_(problem.graph.op_count()),
        cut_(cut_into_intervals(problem.liveness, length)),
        table_(op_count_, capacity) {
    for (const StretchedUnit& unit : units) states_.emplace_back(unit);
  }

  bool everything_fits() const;
  void keep_everything();
  bool reserve_what_must_be_fast();
  void place_short_lived();
  void place_long_lived();
  void forecast();
  void give_tails();
  void migrate_periods();
  void keep_what_still_fits();
  PeriodSchedule result() &&;

 private:
  // A stretch, or the gap of the same index.
  struct Item {
    std::size_t unit = 0;
    std::size_t index = 0;
    bool is_gap = false;
    double density = 0;  // seconds saved per byte and second held
  };

  bool has(RedlAddition addition) const { return problem_.additions.has(addition); }
  Bytes bytes(std::size_t unit) const { return states_[unit].unit().bytes; }
  const Stretch& stretch(std::size_t unit, std::size_t index) const { return states_[unit].unit().stretches[index]; }
  Seconds start_of(graph::OpIndex op) const { return start_[as_index(op)]; }
  int period_of(graph::OpIndex op) const { return cut_.interval_of_op[op]; }
  const SlowTier& slow(std::size_t unit) const { return problem_.units[unit].slow; }
  Seconds copy_in(std::size_t unit) const { return problem_.costs.transfer_seconds(slow(unit).inward, bytes(unit)); }
  Seconds copy_out(std::size_t unit) const { return problem_.costs.transfer_seconds(slow(unit).outward, bytes(unit)); }
  std::vector<Item> long_lived_items() const;
  void take(const Item& item);
  bool fits(const std::vector<Interval<graph::OpIndex>>& ranges, std::size_t unit) const;
  graph::OpIndex earliest_window(std::size_t unit, std::size_t index) const;
  void bring(std::size_t unit, std::size_t index);
  void bring_for_spare(std::size_t unit, std::size_t index);
  bool is_worth_bringing(std::size_t unit, std::size_t index) const;
  void use_in_place(std::size_t unit, std::size_t index);
  bool middle_fits(std::size_t unit, std::size_t gap, std::vector<Interval<graph::OpIndex>>& middle) const;

  const RedlProblem& problem_;
  const Placement& placement_;
  graph::OpIndex op_count_;
  IntervalCut cut_;
  ReservationTable table_;
  std::vector<UnitState> states_;
  std::vector<Seconds> start_;                 // by OpIndex, with operands where the placement has them
  std::map<memory::LinkId, Seconds> free_at_;  // by inward lane: when it has brought all that it was given
  int late_ = 0;
};

}  // namespace sluice::planners
