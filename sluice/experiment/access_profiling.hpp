// From a workload and a machine to its access profile: how often every op touches the pages of every operand
// (Sentinel §III-A), measured in one training step and then remembered on disk.
//
// The profiled step runs under a plan that adds nothing to fast memory: everything in the slow tier where ops can
// address it (slow-only), else everything in fast memory when that fits the budget (fast-only), else on-demand inside
// the budget. It costs about ten normal steps the first time and nothing afterwards: profiles are kept beside the
// profile cache, one file for each graph, tier arrangement and set of options.
#pragma once

#include "sluice/profile/access_profile.hpp"
#include "sluice/profile/profile_cache.hpp"
#include "sluice/train/planning/planning.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::experiment {

struct AccessOptions {
  Bytes tlb_reach = 0;             // of the software TLB; 0: the machine's
  Bytes largest_chunk = 0;         // 0: chosen so that the profiled step takes at most about five normal ones
  bool hardware_sampling = false;  // by the processor's memory sampling instead of page protection
};

// `cache` must be of this machine. Errors: kBadInput for options out of range, kUnsupported where the machine cannot
// count in the way asked for, kMismatch for a stored profile that belongs to another graph or machine, and whatever
// stops a plan or a step. A profile that cannot be stored is still returned, with a warning in the log.
Result<profile::AccessProfile> measure_access_profile(train::Workload& workload, const memory::Machine& machine,
                                                      const train::FastBudget& fast, const AccessOptions& options,
                                                      profile::ProfileCache& cache);

}  // namespace sluice::experiment
