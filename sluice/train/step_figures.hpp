// What a plan is made with, and what steps that ran say about it.
#pragma once

#include <span>

#include "sluice/memory/machine.hpp"
#include "sluice/profile/profile.hpp"
#include "sluice/profile/profile_cache.hpp"
#include "sluice/program/step_times.hpp"
#include "sluice/sim/planned_step.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::train {

struct Figures {
  memory::Machine machine;
  profile::Profile profile = {};
  bool estimated = false;  // op times of other ops, or links after a short look: to begin with
};

// Op times as steps of the session showed them (sim/times_in_steps.hpp): medians over the steps and over ops of one
// signature. What did not run, or in slow memory, is estimated from what did and from the cache. Links as their transfers
// showed them (sim/drift.hpp). What the cache did not know of ops is put there and saved, as measured in steps.
// `step`: the session's, by the figures before, and `predicted` so.
Figures figures_from_steps(const Workload& workload, const sim::PlannedStep& step, const Figures& before,
                           const program::StepTimes& predicted, std::span<const program::StepTimes> steps,
                           profile::ProfileCache& cache);

}  // namespace sluice::train
