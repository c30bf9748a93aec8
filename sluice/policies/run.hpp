// What a step runs under: a plan, a policy over pages, or dtr. Resolved once, where a name becomes a run
// (train/planning/policy_run.hpp) or a file is read (run_file.hpp), and matched where a step is executed, predicted and shown.
//
// A policy decides during the step and has no plan. It comes with one all the same, fast-only's in the graph's own order:
// the program of a policy over pages, and for dtr the names of ops. Its prediction is the policy's.
#pragma once

#include <variant>

#include "sluice/plan/plan.hpp"
#include "sluice/policies/policy_settings.hpp"

namespace sluice::policies {

struct PagesRun {
  plan::Plan plan;  // whose budgets and arenas are what the run really takes
  ChosenPages policy;
};

struct DtrRun {
  plan::Plan plan;
  ChosenDtr policy;
};

using Run = std::variant<plan::Plan, PagesRun, DtrRun>;

Run run_under(ChosenPolicy policy, plan::Plan everything_fast);

// The plan itself, or the one that comes with the policy.
const plan::Plan& plan_of(const Run& run);

inline bool is_planned(const Run& run) { return std::holds_alternative<plan::Plan>(run); }

// The fast memory that the planner or policy could use.
Bytes usable_fast_bytes(const Run& run);

// The arena that the run has there.
Bytes fast_arena_bytes(const Run& run);

}  // namespace sluice::policies
