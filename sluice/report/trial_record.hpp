// How trials of plans during training look on the terminal and in JSON: Sentinel's table III for one run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sluice/experiment/plan_trials.hpp"

namespace sluice {

// "plan 2: prefetches 61, predicted 12.1 ms": how a plan to try differs from the first one.
std::string describe_change(const TrialRecord& record, const TriedPlan& tried);

// Steps for profiling, trials and warm-ups, the occasions that called for trials, and every plan tried with what its
// steps took.
std::string describe_trials(const TrialRecord& record);

nlohmann::json trials_json(const TrialRecord& record);

}  // namespace sluice
