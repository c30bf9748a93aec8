// Gaps: the stretches between two uses of a unit, over which it may stay in the fast tier or leave it.
// A persistent unit also has a gap that wraps around the step: from its last use to its first use in the next step.
// Where asked for, what the step makes has one of no length before its first use, its birth: left in the slow tier, it
// is made there.
#pragma once

#include <compare>
#include <functional>
#include <set>
#include <span>
#include <vector>

#include "sluice/planners/schedule/moving_units.hpp"
#include "sluice/planners/schedule/reservation_table.hpp"

namespace sluice::planners {

enum class GapKind {
  kBetweenUses,
  kOverStepEnd,  // from the last use to the first one of the next step
  kBirth,        // cut only where it is left slow
};

// What brings the unit back for the use behind a cut gap.
enum class Prefetch {
  kNeeded,   // it has to be where it is used
  kMade,     // which may be left out
  kLeftOut,  // the uses up to the next gap find the unit in the slow tier
};

struct Gap {
  std::size_t unit = 0;  // index
  Bytes bytes = 0;       // of the unit's transfers
  graph::OpIndex previous_use = 0;
  graph::OpIndex next_use = 0;  // of the next step when it wraps
  GapKind kind = GapKind::kBetweenUses;
  Prefetch prefetch = Prefetch::kMade;
  bool cut = false;                 // the tensor leaves the fast tier
  bool must_cut = false;            // it cannot stay: it is, or will be, used in the slow tier at one of the gap's ends
  bool writes = false;              // where cut: no valid copy is in the slow tier, and the eviction must write
  graph::OpIndex tail_end = 0;      // room kept for the eviction: [previous_use + 1, tail_end)
  graph::OpIndex window_begin = 0;  // room kept for the prefetch: [window_begin, next_use)

  bool wraps() const { return kind == GapKind::kOverStepEnd; }
  bool is_birth() const { return kind == GapKind::kBirth; }
  bool left_slow() const { return prefetch == Prefetch::kLeftOut; }
};

// A prefetch that may be left out: the unit it brings and the first op that needs it.
struct PrefetchKey {
  std::size_t unit = 0;
  graph::OpIndex next_use = 0;
  auto operator<=>(const PrefetchKey&) const = default;
};

inline PrefetchKey key_of(const Gap& gap) { return {gap.unit, gap.next_use}; }

// The op ranges of a gap: one, or two (after the last use, before the first) when it wraps.
std::vector<Interval<graph::OpIndex>> gap_ranges(const Gap& gap, graph::OpIndex op_count);

// All gaps of at least one op that may be cut, grouped by unit and ascending within a unit (the wrapping one last).
// Units below `small_bytes` and units that may not move have no gaps. Short-lived units have none either, unless
// `move_short_lived` is set, but births where these are asked for: of units whose slow tier is in `usable`.
std::vector<Gap> find_gaps(const std::vector<MovingUnit>& units, graph::OpIndex op_count, Bytes small_bytes,
                           bool move_short_lived = false, const std::set<memory::TierId>& usable = {});

// Marks the gaps whose prefetch is among `left_out` and may be left out, and those that must be cut because of it.
void leave_in_slow(std::vector<Gap>& gaps, const std::set<PrefetchKey>& left_out);

// The uses after `gap`, up to the unit's next gap: either all of them find the tensor in the fast tier, or none does.
// `gaps` are all that find_gaps() returned; `gap` is the index of one of them.
std::vector<graph::Use> uses_behind(const std::vector<Gap>& gaps, std::size_t gap, const std::vector<graph::Use>& uses);

// Gives back the room of uses that find their unit in the slow tier, after cut_all().
void release_uses_in_slow(std::span<const MovingUnit> units, const std::vector<Gap>& gaps, ReservationTable& table);

// What a prefetch brings its unit for: every use until the unit leaves again. The unit stays over the gaps between
// these uses, which are not `cut`.
struct Stay {
  std::vector<std::size_t> gaps;  // `gap` itself, and those that the unit stays over
  std::vector<graph::Use> uses;
};
Stay stay_behind(const std::vector<Gap>& gaps, std::size_t gap, const std::vector<graph::Use>& uses);

// Sets `writes` of every cut gap. `gaps`: all that find_gaps() returned.
void mark_writes(std::span<const MovingUnit> units, std::vector<Gap>& gaps);

// Cuts every gap, without room for copies, and reserves what is left: each unit's live range less its gaps.
void cut_all(std::span<const MovingUnit> units, std::vector<Gap>& gaps, graph::OpIndex op_count,
             ReservationTable& table);

// Keeps a cut gap in the fast tier where there is room for all of it while `headroom` bytes stay free.
bool keep_if_fits(Gap& gap, graph::OpIndex op_count, ReservationTable& table, Bytes headroom = 0);

// What a planner records of its moves (plan/cause.hpp).
struct GapCauses {
  plan::Cause leaves = plan::Cause::kUnsaid;
  std::function<plan::Cause(const Gap&)> comes = [](const Gap&) { return plan::Cause::kUnsaid; };
};

// The unit's schedule: pieces end and begin at its cut gaps, with the room that these have; none is open over uses in
// the slow tier. `gaps`: all of the unit's.
TensorSchedule schedule_of(const MovingUnit& unit, std::span<const Gap> gaps, const GapCauses& causes);

}  // namespace sluice::planners
