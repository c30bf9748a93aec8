// Checkpoints: the forward pass is cut into segments of layers; what one segment makes for a later one is kept, the rest is
// forgotten after its last reader in the forward pass, and made again, all of a segment together and in the old order,
// right before the first backward op that reads some of it. The last segment is kept, as its backward pass begins at
// once. In a step of several batches this is so for each of them.
//
//   forward        | a b c | d e f | g h i |
//   kept                 c       f   g h i
//   backward                                 i' h' g'  d e f'  e' d'  a b c'  b' a'
//
// Chen et al. 2016, section 4: chen-sqrt with segments of sqrt(n) layers; a segment a layer is what training of large
// language models usually does (ZeRO-Offload, figure 5.2).
#pragma once

#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::planners {

// The schedule with segments of `length` layer spans (graph/liveness.hpp). Errors are those of schedule_rematerialization(),
// whose message `planner` begins.
Result<std::vector<graph::OpIndex>> schedule_with_checkpoints(const graph::Graph& graph, double length,
                                                              std::string_view planner);

// Layer spans of the forward pass.
std::int64_t forward_spans(const graph::Graph& graph);

}  // namespace sluice::planners
