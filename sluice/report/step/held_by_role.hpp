// What a tier holds while each op of a step runs, by role.
//
// Room counts from the moment it is reserved to the moment it is given back; gaps between tensors do not, so the sum is
// at most the arena. Tensors that end up in another one's place count while they are there. Cost: linear in residencies,
// and in ops times roles.
#pragma once

#include <array>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::report {

using BytesByRole = std::array<Bytes, as_index(graph::Role::kOutput) + 1>;

// By slot. `step`: the graph in whose ops the plan speaks (plan/plan_graph.hpp). The plan is of a planner: a policy's
// says nothing of where tensors are.
std::vector<BytesByRole> held_by_role(memory::TierId tier, const graph::Graph& step, const plan::Plan& plan);

Bytes sum_of_roles(const BytesByRole& bytes);

}  // namespace sluice::report
