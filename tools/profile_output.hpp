// How op times look on the terminal and in JSON results.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sluice/graph/graph.hpp"
#include "sluice/measure/placement_profiler.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice::cli {

// Where the times are from, their sums, and the `count` slowest ops, warm and cold.
std::string describe_times(const graph::Graph& graph, const memory::Machine& machine, const profile::Profile& profile,
                           std::size_t count);

// For each slow tier with times by placement: the same ops with all operands in fast memory, then by how much they are
// slower with their inputs, their outputs and everything in the slow tier (ReDL, fig. 4b).
std::string describe_placements(const graph::Graph& graph, const memory::Machine& machine,
                                const profile::Profile& profile, const measure::PlacementEffort& effort,
                                std::size_t count);

// How fast the encoders are, and the `count` tensors of which encoding saves the most bytes. Needs Profile::encodings.
std::string describe_encodings(const graph::Graph& graph, const profile::Profile& profile, std::size_t count);

// The `count` ops with several implementations for which the choice makes the largest difference: time and workspace of
// each implementation.
std::string describe_implementations(const graph::Graph& graph, const profile::Profile& profile, std::size_t count);

// By op that has several.
nlohmann::json implementations_json(const graph::Graph& graph, const profile::Profile& profile);
nlohmann::json op_times_json(const graph::Graph& graph, const profile::Profile& profile);
// By tensor of which encoding saves anything.
nlohmann::json encodings_json(const graph::Graph& graph, const profile::EncodingFigures& figures);
// One entry a slow tier; of equal ops the first stands for all.
nlohmann::json placements_json(const graph::Graph& graph, const memory::Machine& machine,
                               const profile::Profile& profile);

}  // namespace sluice::cli
