// Which slow tier a tensor leaves for where there are several: one with room for it, else the farthest.
//
//   nearest   |t1 t1 t1|t4 t4|            asked in the order t1, t2, t3, t4: t2 finds the nearest full, t4 finds the
//   next      |t2 t2 t2 t2|t3 t3 t3|      room that t1 has left
//
// Room is counted in bytes over ops; packing may still lose some (pack.hpp). The order of asking is the planner's.
// Systems with a hierarchy of memories go by who comes first, and fill the nearest. That may be the wrong one: copies
// between memories cost the processors more than a disk's do, which cost nothing but a lane's time while it is idle.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sluice/planners/schedule/moving_units.hpp"
#include "sluice/planners/schedule/reservation_table.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

class SlowRooms {
 public:
  // `tiers` nearest first, at least one; `capacities` by TierId.
  SlowRooms(std::span<const SlowTier> tiers, graph::OpIndex op_count, std::span<const Bytes> capacities);

  // The first of `tiers` (some of those given) with room over all ranges, where the room is then taken. The farthest
  // tier takes what fits into no other, however much that is: packing finds it full.
  SlowTier place(std::span<const SlowTier> tiers, std::span<const Interval<graph::OpIndex>> ranges, Bytes bytes);
  // The same of all tiers, nearest first.
  SlowTier place(std::span<const Interval<graph::OpIndex>> ranges, Bytes bytes) { return place(tiers_, ranges, bytes); }

  std::span<const SlowTier> tiers() const { return tiers_; }

 private:
  std::vector<SlowTier> tiers_;
  std::vector<ReservationTable> tables_;  // by tier
};

// Sets each unit's slow tier: first come, first served. Persistent units come first, then the others as they are made;
// room is taken over the whole live range, since nobody knows yet when the unit will be there.
void place_first_come(std::vector<MovingUnit>& units, SlowRooms rooms);

// What a second of a link's time costs at an op.
using LanePrice = std::function<double(memory::LinkId, graph::OpIndex)>;

// The same where a schedule has shown who needs what (`demands` by unit): each unit in the tier where its copies cost
// least and there is room while it is there. Who loses most elsewhere, for the room and time it takes, comes first.
void place_by_price(std::vector<MovingUnit>& units, std::span<const SlowDemand> demands,
                    const profile::CostModel& costs, const LanePrice& price, SlowRooms rooms);

}  // namespace sluice::planners
