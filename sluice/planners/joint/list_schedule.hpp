// When copies run: a list schedule of a step whose gaps are decided.
//
// The step is run in time, op after op, with a lane for each link. What leaves joins its lane's queue behind the op
// that used it last, and its room is free when the copy is done. A lane that is idle takes the prefetch that is needed
// first, of those that have room from now until then; one that is needed later goes first only where the other keeps
// the room that it will have. So prefetches start as early as room allows, and no earlier than the lane can begin.
//
// Then prefetches that ran early begin later, by four fifths of the time that nobody would miss: the room that they
// give back makes offsets easier to find.
//
//   op          0      1      2      3        tail_end of A: 2, as the copy ends while op 1 runs
//   out         .      A--A   .      .        window_begin of B: 1, as it starts while op 1 runs, and not 0, where
//   in          .         B------B   .        there was no room yet
//
// Times are the simulator's (sim/simulator.hpp), but for packing: bytes that are used again too soon make ops wait
// there.
#pragma once

#include <span>
#include <vector>

#include "sluice/planners/schedule/gaps.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

// Sets tail_end and window_begin of every cut gap; one keeps its tensor after all where there is room between its
// copies. `table` holds everything but the room of copies, which is added; `op_seconds`: by op, with its operands where
// the gaps leave them. An op that finds a tensor in slow memory waits until its copy is there. Returns when the step
// ends. O(ops x lanes + gaps^2) at worst.
Seconds list_schedule(std::span<const MovingUnit> units, const profile::CostModel& costs, graph::OpIndex op_count,
                      std::vector<Gap>& gaps, ReservationTable& table, std::span<const Seconds> op_seconds);

}  // namespace sluice::planners
