// How far a machine is off the figures that a step was predicted with: as observed steps show it, or as a draw says that
// stands for the next moment (noise.hpp).
//
// A disk that others use, or that grows warm, and cores that others keep busy make a step slower than predicted, and a
// plan is the best for its figures only. Ops are taken together, and the transfers of each link: what drifts is the
// machine, not one op.
#pragma once

#include <span>
#include <vector>

#include "sluice/memory/machine.hpp"
#include "sluice/profile/profile.hpp"
#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::sim {

// Factors: the time observed, of the time predicted. 1: as predicted.
struct Drift {
  double compute = 1;
  std::vector<double> links;                  // by LinkId; 1 where the step moves too little to tell (kLeastBusy)
  IdVector<graph::OpIndex, double> ops = {};  // of each op besides; empty where only all together were observed

  // The largest factor, above 1, by which ops together or a link are slower or faster than predicted.
  double largest() const;
};

inline constexpr double kLeastBusy = 0.05;  // of the step, that a link is busy for its drift to be told

// `predicted`: of `program`, whose steps were observed. Medians over the steps, of which there is at least one.
Drift measure_drift(const program::Program& program, const program::StepTimes& predicted,
                    std::span<const program::StepTimes> observed);

// The figures after the drift: each op's times (warm, cold and by every choice), and the latency and bandwidths of each
// link. What an op takes longer with operands in a slow tier, and what links cost ops, stay as they were.
memory::Machine drifted(memory::Machine machine, const Drift& drift);
profile::Profile drifted(profile::Profile profile, const Drift& drift);

}  // namespace sluice::sim
