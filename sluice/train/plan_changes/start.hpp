// How a run comes to its first plan, where others may be tried after it.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "sluice/train/plan_changes/watched_training.hpp"

namespace sluice::train {

// Plans a workload: where trials are wanted, with the first plan of the planner's search, else with plan_run().
// `most_trials`: 0 means no trials. When it is missing, trials are made where the planner has a search and ops can use
// slow memory in place, because elsewhere a late tensor can only be waited for (Sentinel §V). kBadInput when trials are
// asked for and the planner has none to make; otherwise plan_run()'s errors. `watch`: of plan_run().
Result<PlannedStart> start_planning(const Workload& workload, const memory::Machine& machine,
                                    const profile::Profile& profile, std::string_view planner, const FastBudget& fast,
                                    const profile::AccessProfile* accesses,
                                    const std::optional<std::int64_t>& most_trials,
                                    std::shared_ptr<const planners::PlanningWatch> watch = nullptr);

bool has_search(std::string_view planner);
// Whether trials are made, asked for in this way or not at all.
bool makes_trials(std::string_view planner, const memory::Machine& machine,
                  const std::optional<std::int64_t>& most_trials);

// Trains from the beginning until the trials are over, or until `stop` says so, only to find the plan: the parameters
// are thrown away. Errors as of the session.
Result<PlanRecord> settle_in_training(Workload& workload, PlannedStart start, WatchOptions options,
                                      const SessionOptions& session_options, double learning_rate,
                                      const std::function<bool()>& stop);

}  // namespace sluice::train
