// Where every tensor is over a step, and its life in one sentence: what the page's table of largest tensors says, and
// what its charts highlight.
//
//   conv2.y, activation of 12.2 MiB: evicted after op 31 (relu4), back before op 140 (conv2.backward)
//
// A tensor that is made again counts with all its copies. Cost: linear in residencies, migrations and ops.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan_graph.hpp"

namespace sluice::report {

// By TensorId of the given graph: [{"name", "role", "bytes", "shape", "places": [[tier, from ms, to ms]], "story"}].
// `slots`: slot_times_ms() of the plan's step; ops are counted as the plan counts them.
nlohmann::json tensor_lives_json(const plan::PlanGraph& step, const memory::Machine& machine, const plan::Plan& plan,
                                 std::span<const double> slots);

// Indexes into what tensor_lives_json() makes, of the `most` tensors with most bytes, largest first; of those that are
// nowhere in the step none, and no scratch of a single op.
nlohmann::json largest_tensors_json(const nlohmann::json& lives, std::size_t most);

}  // namespace sluice::report
