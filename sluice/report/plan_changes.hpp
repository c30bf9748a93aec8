// What became of a run's plan while it trained (train/plan_changes), as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sluice/memory/machine.hpp"
#include "sluice/train/plan_changes/plan_record.hpp"

namespace sluice::report {

// A line for the last change: that a plan is sought, because "ops 1.31 times slower, file -> dram 1.80 times slower" (what
// is off by a tenth or more, or by the most), what came of that, or "plan 2: prefetches 61, predicted 12.1 ms", how a plan to try differs
// from the first.
std::string describe_last_change(const memory::Machine& machine, const train::PlanRecord& record);

// Sentinel's table III for one run: steps for profiling, trials and warm-ups, the occasions that called for trials, and
// every plan tried with what its steps took. Empty where none were tried.
std::string describe_trials(const train::PlanRecord& record);

nlohmann::json trials_json(const train::PlanRecord& record);

// Adds "trials" or "replans", by the rule that decided; nothing where the plan was to stay.
void add_plan_changes(nlohmann::json& document, const memory::Machine& machine, const train::PlanRecord& record);

}  // namespace sluice::report
