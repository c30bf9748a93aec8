// What a training run begins with, so that its first step comes at once: what is not known is estimated, and measured by
// the run's own steps (train/plan_changes/watched_training.hpp).
//
//   everything fits      nothing is to be decided, and nothing is measured
//   else                 links by a short look, and of each kind of op one, in about a second: the others are estimated
//                        from those and from what the cache knows (profile/op_estimate.hpp)
#pragma once

#include <optional>
#include <string>

#include "sluice/profile/profile_cache.hpp"
#include "sluice/train/planning/planning.hpp"
#include "sluice/train/step_figures.hpp"

namespace sluice::experiment {

inline constexpr Seconds kFirstLook = 1;        // at ops
inline constexpr Seconds kFirstPlanning = 2;    // after that the plan to begin with is the best until then
inline constexpr double kHardlyMatters = 0.02;  // of the op times: that may be estimates beside measured ones

// What of a run's settings decides how it begins.
struct Beginning {
  std::string planner;
  std::optional<train::FastBudget> fast;    // nothing: is to be found, by planning several times
  std::optional<std::int64_t> most_trials;  // as start_planning() takes it
  bool times_given = false;                 // op times come from a file
  bool measured_before = false;             // access counts, a network or a GPU ask for figures beside times
  bool may_change = true;                   // a better plan may take over
};

// Everything in fast memory, and the estimates that this was planned with.
struct PlanWhereAllFits {
  plan::Plan plan;
  profile::Profile profile;
  bool estimated = false;  // as Figures::estimated
};

// The plan that has everything in fast memory, where the budget holds that and the planner moves nothing then. Nothing
// where it matters how long ops take (for policies, several processors, and choices between kernels), or where that is
// given or decides by trials. kInfeasible as plan_workload(): fast memory does not hold everything, and nobody set a
// budget. `cache`: of op times known already.
Result<std::optional<PlanWhereAllFits>> plan_where_all_fits(const train::Workload& workload,
                                                            const memory::Machine& machine,
                                                            const profile::ProfileCache& cache,
                                                            const Beginning& beginning);

// Whether the plan to begin with may be made with first_figures(). Where a run decides by its own steps already (trials),
// chooses between what was measured, or keeps its plan, it needs figures before.
bool may_begin_with_estimates(const train::Workload& workload, const memory::Machine& machine,
                              const Beginning& beginning);

// `machine` is not yet probed. Figures::estimated says whether steps are to measure them.
Result<train::Figures> first_figures(train::Workload& workload, const memory::Machine& machine,
                                     profile::ProfileCache& cache);

}  // namespace sluice::experiment
