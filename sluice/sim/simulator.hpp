// Predicts a step: runs a Program with durations from the cost model. Deterministic, no threads.
#pragma once

#include "sluice/profile/cost_model.hpp"
#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::sim {

// A link serves its lane's transfers as program.hpp says: at full speed while the link back is idle, and at its
// shared_bandwidth while both are busy (latency stretches likewise: a link counts as busy from a transfer's begin to
// its end). While links carry data the op under way goes slower, by the time that every byte costs it
// (Link::interference): one link at 5 GB/s and 0.1 ns per byte leaves it half its speed, two such links a quarter.
//
// Each processor runs its ops at the speed at which they were measured by themselves: that two of them share memory is
// not reckoned with.
//
// An exact event simulation, O(instructions x links + waits). Equal programs and costs give equal bits.
program::StepTimes simulate(const program::Program& program, const profile::CostModel& costs);

}  // namespace sluice::sim
