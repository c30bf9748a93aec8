// What each tier holds at every moment of a step, by role: the bytes of a plan's residencies over the clock of its
// timeline.
//
//   bytes   ____/~~~~~~~~~~\____      one such line a role; their sum is what the tier holds
//   ms      0   1.2        8.4
//
// Room counts from the moment it is reserved to the moment it is given back. Gaps between tensors do not count, so the
// sum is at most the arena. Cost: linear in residencies, and in slots times roles.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan_graph.hpp"

namespace sluice::report {

// [{"tier", "emulated", "budget_bytes", "arena_bytes", "peak": {"bytes", "moment", "ms", "op"}, "roles": [...], "ms": [...],
//   "bytes": [[...] of each role]}], of tiers that hold anything. bytes[r][i] holds from ms[i] until ms[i + 1].
// `slots`: slot_times_ms() of the plan's step.
nlohmann::json memory_over_step_json(const plan::PlanGraph& step, const memory::Machine& machine,
                                     const plan::Plan& plan, std::span<const double> slots);

}  // namespace sluice::report
