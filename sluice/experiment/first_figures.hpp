// What a training run begins with, so that its first step comes at once: what is not known is estimated, and measured by
// the run's own steps (train/replanning.hpp).
//
//   everything fits      nothing is to be decided, and nothing is measured
//   else                 links by a short look, and of each kind of op one, in about a second: the others are estimated
//                        from those and from what the cache knows (profile/op_estimate.hpp)
#pragma once

#include <optional>
#include <string_view>

#include "sluice/profile/profile_cache.hpp"
#include "sluice/train/planning.hpp"
#include "sluice/train/step_figures.hpp"

namespace sluice::experiment {

inline constexpr Seconds kFirstLook = 1;        // at ops
inline constexpr Seconds kFirstPlanning = 2;    // after that the plan to begin with is the best until then
inline constexpr double kHardlyMatters = 0.02;  // of the op times: that may be estimates beside measured ones

// The plan that has everything in fast memory, where the budget holds that and the planner moves nothing then. Nothing
// where it matters how long ops take: for policies, several processors, and choices between kernels. kInfeasible as
// plan_workload(): fast memory does not hold everything, and nobody set a budget.
Result<std::optional<plan::Plan>> plan_where_all_fits(const train::Workload& workload, const memory::Machine& machine,
                                                      const profile::Profile& estimates, std::string_view planner,
                                                      const train::FastBudget& fast);

// Whether more than transfers depends on how long ops take.
bool times_matter(const train::Workload& workload, const memory::Machine& machine, std::string_view planner);

// Where a run decides by its own steps already (trials: TrialOptions::most_steps), or chooses between what was measured,
// it needs figures before.
bool may_begin_with_estimates(const train::Workload& workload, const memory::Machine& machine, std::string_view planner,
                              const std::optional<std::int64_t>& most_steps);

// `machine` is not yet probed. Figures::estimated says whether steps are to measure them.
Result<train::Figures> first_figures(train::Workload& workload, const memory::Machine& machine,
                                     profile::ProfileCache& cache);

}  // namespace sluice::experiment
