// What a run under a policy looks like before it starts, and what was predicted of it.
#pragma once

#include <string>

#include "sluice/policies/dtr/dtr.hpp"
#include "sluice/policies/run.hpp"
#include "sluice/sim/policy_simulator.hpp"

namespace sluice::cli {

// In place of describe_plan(): which policy, and how much fast memory it may use.
std::string describe_policy_run(const memory::Machine& machine, const policies::Run& run);

// What a step in balance takes, and the policy's own figures: lines beside those of the last step.
std::string describe_policy_timeline(const sim::PolicyTimeline& timeline);

nlohmann::json policy_timeline_json(const sim::PolicyTimeline& timeline);

// What a step under dtr did.
std::string describe_dtr_step(const policies::DtrStep& step, const policies::Run& run);
nlohmann::json dtr_step_json(const policies::DtrStep& step);

}  // namespace sluice::cli
