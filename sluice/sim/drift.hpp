// How far a machine has drifted from the figures that a step was predicted with, as observed steps show it.
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
  std::vector<double> links;  // by LinkId; 1 where the step moves too little to tell (kLeastBusy)

  // The largest factor, above 1, by which anything is slower or faster than predicted.
  double largest() const;
};

inline constexpr double kLeastBusy = 0.05;  // of the step, that a link is busy for its drift to be told

// `predicted`: of `program`, whose steps were observed. Medians over the steps, of which there is at least one.
Drift measure_drift(const program::Program& program, const program::StepTimes& predicted,
                    std::span<const program::StepTimes> observed);

// The figures after the drift: all op times, and the latency and bandwidths of each link. What an op takes longer with
// operands in a slow tier, and what links cost ops, stay as they were.
memory::Machine drifted(memory::Machine machine, const Drift& drift);
profile::Profile drifted(profile::Profile profile, const Drift& drift);

// Each op's times (warm, cold and by every choice) times its factor.
profile::Profile slowed(profile::Profile profile, const IdVector<graph::OpIndex, double>& factors);

}  // namespace sluice::sim
