// Which slow tier a tensor leaves for where there are several: the nearest with room for it, else the farthest.
//
//   nearest   |t1 t1 t1|t4 t4|            asked in the order t1, t2, t3, t4: t2 finds the nearest full, t4 finds the
//   next      |t2 t2 t2 t2|t3 t3 t3|      room that t1 has left
//
// Room is counted in bytes over ops; packing may still lose some (pack.hpp). The order of asking is the planner's:
// systems with a hierarchy of memories go by who comes first. Better is who gains most: by_traffic() puts first what
// is copied most often for the time that it takes up room.
#pragma once

#include <span>
#include <vector>

#include "sluice/planners/schedule/moving_units.hpp"
#include "sluice/planners/schedule/reservation_table.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"

namespace sluice {

class SlowRooms {
 public:
  // `tiers` nearest first, at least one; `capacities` by TierId.
  SlowRooms(std::span<const SlowTier> tiers, OpIndex op_count, std::span<const Bytes> capacities);

  // Takes the room. The farthest tier takes what fits into no other, however much that is: packing finds it full.
  SlowTier place(std::span<const Interval<OpIndex>> ranges, Bytes bytes);

 private:
  std::vector<SlowTier> tiers_;
  std::vector<ReservationTable> nearer_;  // all tiers but the farthest
};

// Sets each unit's slow tier: first come, first served. Persistent units come first, then the others as they are made;
// room is taken over the whole live range, since nobody knows yet when the unit will be there.
void place_first_come(std::vector<MovingUnit>& units, SlowRooms rooms);

// The same where a schedule has shown who needs what (`demands` by unit): most copies for the room and time first, and
// room only while a copy is there. Units that never left come last.
void place_by_traffic(std::vector<MovingUnit>& units, std::span<const SlowDemand> demands, SlowRooms rooms);

}  // namespace sluice
