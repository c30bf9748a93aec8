// Where a unit is over the step while its migrations are being decided.
#pragma once

#include <vector>

#include "sluice/planners/redl/stretches.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"

namespace sluice::planners {

struct GapState {
  bool kept = false;                // the unit stays in the fast tier
  graph::OpIndex tail_end = 0;      // not kept: room for the copy out, [end of the stretch before, tail_end)
  graph::OpIndex window_begin = 0;  // not kept: room for the copy in, [window_begin, begin of the stretch after)
};

class UnitState {
 public:
  // To begin with, every stretch is in the slow tier if it can be there, else in the fast one, and no gap is kept.
  explicit UnitState(const StretchedUnit& unit);

  const StretchedUnit& unit() const { return *unit_; }
  bool fast(std::size_t stretch) const { return fast_[stretch]; }
  void set_fast(std::size_t stretch, bool fast) { fast_[stretch] = fast; }
  GapState& gap(std::size_t gap) { return gaps_.at(gap); }
  const GapState& gap(std::size_t gap) const { return gaps_.at(gap); }

  std::size_t stretch_behind(std::size_t gap) const { return unit_->wraps(gap) ? 0 : gap + 1; }
  // The gap before a stretch; gap_count() for the first one of a unit that is made in the step.
  std::size_t gap_before(std::size_t stretch) const;
  bool between_fast(std::size_t gap) const { return fast_[gap] && fast_[stretch_behind(gap)]; }
  // Whether a migration has to bring the unit for this stretch.
  bool is_brought(std::size_t stretch) const;
  // By gap: whether the unit leaves the fast tier there with no valid copy in the slow one.
  std::vector<bool> write_backs() const;

  TensorSchedule schedule(Interval<graph::OpIndex> range, graph::OpIndex op_count) const;

 private:
  const StretchedUnit* unit_;
  std::vector<bool> fast_;
  std::vector<GapState> gaps_;
};

}  // namespace sluice::planners
