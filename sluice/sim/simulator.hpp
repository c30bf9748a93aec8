// Predicts a step: runs a Program with durations from the cost model. Deterministic, no threads.
#pragma once

#include "sluice/profile/cost_model.hpp"
#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::sim {

// A link serves its lane's transfers as program.hpp says. How links that share a device and what they carry slow each
// other and compute: link_traffic.hpp.
//
// Each processor runs its ops at the speed at which they were measured by themselves: that two of them share memory is
// not reckoned with.
//
// An exact event simulation, O(instructions x links + waits). Equal programs and costs give equal bits.
program::StepTimes simulate(const program::Program& program, const profile::CostModel& costs);

}  // namespace sluice::sim
