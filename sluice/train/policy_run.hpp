// Policies where planners are asked for: in training and in comparisons.
//
// A policy has no plan: it decides as accesses happen. A run under a policy runs fast-only's plan, and the policy over
// it (exec/policy/policy_executor.hpp). The plan carries the policy (Plan::policy), so that such a run can be handed
// about like any other; its planner's name is the policy as the user wrote it. Its budgets and arenas are fast-only's:
// what the run really takes.
//
// dtr (policies/dtr/dtr.hpp) takes nothing of fast-only's plan: its run has an arena of the fast memory asked for, and
// needs no slow tier.
#pragma once

#include "sluice/exec/policy/policy_executor.hpp"
#include "sluice/sim/policy_simulator.hpp"
#include "sluice/train/planning.hpp"

namespace sluice::train {

// Its predicted step is that of predict_policy(), in balance, or of simulate_dtr(). Errors: those of plan_workload() for
// fast-only, and of these.
Result<plan::Plan> plan_for_policy(const Workload& workload, const memory::Machine& machine,
                                   const profile::Profile& profile, std::string_view policy, const FastBudget& fast);

// The fast memory that a planner or policy could use.
Bytes usable_fast_bytes(const plan::Plan& plan);

// The arena that a run under the plan has there.
Bytes fast_arena_bytes(const plan::Plan& plan);

// kBadInput where a planner is asked for and a policy is named: it has no plan.
Status check_is_planner(std::string_view name);

}  // namespace sluice::train
