// From a name to what a step runs under, where policies may be named beside planners: in training and in comparisons.
//
// A policy has no plan: it decides as accesses happen. A run under one has fast-only's (policies/run.hpp), whose planner
// is the policy as the user wrote it and whose predicted step is the policy's, in balance.
//
// dtr (policies/dtr/dtr.hpp) takes nothing of fast-only's plan: its run has an arena of the fast memory asked for, and
// needs no slow tier.
#pragma once

#include "sluice/policies/run.hpp"
#include "sluice/train/planning/planning.hpp"

namespace sluice::train {

// Errors: those of plan_workload(), of policies::choose_policy(), and of predicting the policy's step
// (sim::predict_policy(), sim::simulate_dtr()).
Result<policies::Run> plan_run(const Workload& workload, const memory::Machine& machine,
                               const profile::Profile& profile, std::string_view planner, const FastBudget& fast,
                               const profile::AccessProfile* accesses = nullptr,
                               std::shared_ptr<const planners::PlanningWatch> watch = nullptr);

// kBadInput where a planner is asked for and a policy is named: it has no plan.
Status check_is_planner(std::string_view name);

}  // namespace sluice::train
