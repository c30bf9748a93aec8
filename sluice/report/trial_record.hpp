// How trials of plans during training look on the terminal and in JSON: Sentinel's table III for one run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sluice/experiment/plan_trials.hpp"

namespace sluice::report {

// "plan 2: prefetches 61, predicted 12.1 ms": how a plan to try differs from the first one.
std::string describe_change(const experiment::TrialRecord& record, const experiment::TriedPlan& tried);

// Steps for profiling, trials and warm-ups, the occasions that called for trials, and every plan tried with what its
// steps took.
std::string describe_trials(const experiment::TrialRecord& record);

nlohmann::json trials_json(const experiment::TrialRecord& record);

}  // namespace sluice::report
